/* hone's interface for operators of your own: C99, no type of hone's, stable from version to version.
 *
 * A plugin is a shared library, built by any compiler against this one header, that exports hone_plugin_entry(). The program
 * loads it with `--plugin libmine.so`; from then on its operators are read from models, checked, costed, measured, run and
 * reported like hone's own. docs/plugins.md is the half-hour from nothing to a measured operator; examples/plugin is one.
 *
 * Versions. HONE_PLUGIN_ABI counts up when this interface grows. A hone that knows version n loads plugins of versions 1 to
 * n and refuses newer ones. Structs grow at their ends only, and are always passed by pointer.
 *
 * Lifetimes. A plugin, once loaded, stays loaded until the process ends: everything that hone_plugin_entry() leads to
 * (structs, strings, source text) must stay as it is that long; static const data does. What hone passes to a function
 * (nodes, tensors, shapes, strings, memory) is hone's and lives until the function returns; keep no pointer to it, free none
 * of it. Functions that get memory to write to (hone_tensor_type, hone_cost, hone_cuda_plan, outputs, scratch) fill it and
 * keep no pointer either.
 *
 * Threads. hone may call every function of a plugin from several threads at once, on nodes that may be the same: functions
 * keep no state of their own between calls. In particular two models may be made ready at a time, and an operator may run
 * beside itself.
 *
 * Errors. Functions return 0 when all is well. Otherwise they return another number and say in error->text what is wrong and
 * what to do, as one line without a full stop; hone puts in front of it the file, node, operator and plugin. hone_fail()
 * does both. No exception and no longjmp may leave a function; hone reports exceptions where it can catch them. A function
 * that crashes takes hone with it.
 *
 * Units. Extents and counts are in elements, sizes in bytes, work in FLOPs (a multiply-add counts two).
 */
#ifndef HONE_PLUGIN_H
#define HONE_PLUGIN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_PLUGIN_ABI 1

#define HONE_MAX_RANK 16
#define HONE_MAX_LAUNCHES 8
#define HONE_MAX_ARGUMENTS 32
#define HONE_MAX_DEFINES 16

/* Element types, by the numbers of ONNX (TensorProto.DataType). Types of less than a byte take one byte an element. */
enum {
  HONE_F32 = 1,
  HONE_U8 = 2,
  HONE_I8 = 3,
  HONE_U16 = 4,
  HONE_I16 = 5,
  HONE_I32 = 6,
  HONE_I64 = 7,
  HONE_BOOL = 9, /* one byte, 0 or 1 */
  HONE_F16 = 10,
  HONE_F64 = 11,
  HONE_U32 = 12,
  HONE_U64 = 13,
  HONE_C64 = 14,  /* two f32 */
  HONE_C128 = 15, /* two f64 */
  HONE_BF16 = 16,
  HONE_F8E4M3FN = 17,
  HONE_F8E4M3FNUZ = 18,
  HONE_F8E5M2 = 19,
  HONE_F8E5M2FNUZ = 20,
  HONE_U4 = 21,
  HONE_I4 = 22,
  HONE_F4E2M1 = 23,
  HONE_F8E8M0 = 24,
  HONE_U2 = 25,
  HONE_I2 = 26
};

typedef struct hone_error {
  char text[512]; /* UTF-8, closed by a zero */
} hone_error;

/* --- what a function sees of a node ---------------------------------------------------------------------------------- */

/* A dense tensor, row-major: the last extent runs fastest. */
typedef struct hone_tensor {
  int32_t dtype;
  /* -1 where the rank is not known: in infer() only. */
  int32_t rank;
  /* `rank` extents. In infer() an extent may be open, and is then negative: -1 is not known at all, and equal numbers of -2
   * and below are equal extents ("batch"), which infer() may pass on to an output. Elsewhere all are 0 or more. */
  const int64_t* shape;
  /* The elements. In infer(), cost(), accepts() and plan(): host memory that holds the data of an input known beforehand (a
   * constant of the model), else NULL. In run(): host memory aligned to the element's size at least, which may be NULL where
   * there are no elements. Inputs are read only, outputs are written only: they hold garbage, overlap no input, and every
   * element must be written. */
  void* data;
} hone_tensor;

enum {
  HONE_ATTRIBUTE_INT = 1,
  HONE_ATTRIBUTE_FLOAT = 2,
  HONE_ATTRIBUTE_STRING = 3,
  HONE_ATTRIBUTE_INTS = 4,
  HONE_ATTRIBUTE_FLOATS = 5,
  HONE_ATTRIBUTE_STRINGS = 6,
  HONE_ATTRIBUTE_TENSOR = 7
};

/* An attribute of a node; only what its kind names is set. */
typedef struct hone_attribute {
  const char* name;
  int32_t kind;
  int64_t integer;            /* INT */
  double real;                /* FLOAT, an f32 in the model */
  const char* string;         /* STRING, and closed by a zero */
  size_t count;               /* of INTS, FLOATS, STRINGS */
  const int64_t* integers;    /* INTS */
  const float* reals;         /* FLOATS */
  const char* const* strings; /* STRINGS */
  const hone_tensor* tensor;  /* TENSOR; its data is host memory */
} hone_attribute;

typedef struct hone_node {
  const char* name;   /* of the node in the model, for messages that hone does not begin with it anyway */
  const char* domain; /* as the operator's */
  const char* op;
  int32_t since_version;
  size_t input_count; /* as in the model; inputs[i] is NULL where an optional input is absent */
  const hone_tensor* const* inputs;
  size_t
      output_count; /* as in the model; outputs[i] is NULL where nobody wants it, and everywhere in infer() */
  const hone_tensor* const* outputs;
  size_t attribute_count; /* those that the model gives; no defaults */
  const hone_attribute* attributes;
} hone_node;

/* --- what an operator says of itself --------------------------------------------------------------------------------- */

/* The type of an output. hone sets rank to -1 before infer(): an output that still has it is an error. */
typedef struct hone_tensor_type {
  int32_t dtype;
  int32_t rank; /* 0 to HONE_MAX_RANK */
  int64_t shape
      [HONE_MAX_RANK]; /* as in hone_tensor; open extents only where they depend on what is open in the inputs */
} hone_tensor_type;

/* The cost of one run. hone fills in the usual answer before cost(): no FLOPs, every input read once, every output written
 * once (compulsory bytes). Change what is not so. All must be finite and 0 or more. */
typedef struct hone_cost {
  double flops; /* of the definition, whatever a kernel does */
  double bytes_read;
  double bytes_written;
} hone_cost;

typedef struct hone_attribute_spec {
  const char* name;
  int32_t kind;     /* HONE_ATTRIBUTE_…; another kind in a model is an error that hone reports */
  int32_t required; /* 0 or 1 */
} hone_attribute_spec;

/* --- kernels for the CPU --------------------------------------------------------------------------------------------- */

/* body(context, begin, end, thread) computes items [begin, end); `thread` is in [0, call->threads). */
typedef void (*hone_body)(void* context, int64_t begin, int64_t end, int32_t thread);

typedef struct hone_cpu_call {
  /* Threads that this run may use, the caller's own included. A kernel with threads of its own uses no more. */
  int32_t threads;
  /* As many bytes as scratch_bytes() said, aligned to 64, holding garbage; NULL for 0. */
  void* scratch;
  /* Splits [0, count) into disjoint ranges of at least `grain` items, where there are as many, and runs `body` on them on
   * hone's own threads; returns when all are done. Cheap: a few microseconds, no allocation. Not to be nested. */
  void (*parallel)(const struct hone_cpu_call* call, int64_t count, int64_t grain, hone_body body,
                   void* context);
} hone_cpu_call;

typedef struct hone_cpu_kernel {
  /* What reports and the timing cache call it; unique among the operator's CPU kernels. Another algorithm, another name. */
  const char* name;
  /* 0 if the kernel can run this node (types, shapes, attributes); otherwise error->text says why not, and hone asks the
   * next kernel. All extents are known. NULL: it runs every node that infer() lets pass. */
  int (*accepts)(const hone_node* node, hone_error* error);
  /* Bytes of scratch that run() wants, given so many threads. NULL: none. */
  size_t (*scratch_bytes)(const hone_node* node, int32_t threads);
  /* Computes the outputs from the inputs. Called many times for one node, and timed: allocates nothing that `scratch` could
   * be, prints nothing. Checks what it uses as an index or an extent: data come from users, and hone makes some up to
   * measure by. An error (data that make no sense) ends the step, and the user reads its text. */
  int (*run)(const hone_node* node, const hone_cpu_call* call, hone_error* error);
} hone_cpu_kernel;

/* --- kernels for NVIDIA GPUs ------------------------------------------------------------------------------------------ */

/* An argument of a __global__ function. Each is eight bytes: a pointer, a long long, a double. */
enum {
  HONE_ARGUMENT_INPUT = 1,   /* the device address of input `index`; the node must have it */
  HONE_ARGUMENT_OUTPUT = 2,  /* the device address of output `index` */
  HONE_ARGUMENT_SCRATCH = 3, /* the device address of scratch, `integer` bytes (a multiple of 16) on */
  HONE_ARGUMENT_INTEGER = 4, /* long long `integer` */
  HONE_ARGUMENT_REAL = 5,    /* double `real` */
  HONE_ARGUMENT_FAULT = 6,   /* unsigned long long*, may be NULL: where a kernel that finds wrong data … */
  HONE_ARGUMENT_FAULT_WORD = 7 /* unsigned long long: … writes this if a 0 is there (atomicCAS) */
};

typedef struct hone_argument {
  int32_t kind;
  int32_t index;
  int64_t integer;
  double real;
} hone_argument;

typedef struct hone_launch {
  const char* entry;     /* an extern "C" __global__ function of the source */
  uint32_t grid[3];      /* blocks: 1 or more each */
  uint32_t block[3];     /* threads: 1 or more each, 1024 together at most */
  uint32_t shared_bytes; /* dynamic shared memory, 48 KiB at most */
  uint32_t argument_count;
  hone_argument arguments[HONE_MAX_ARGUMENTS];
} hone_launch;

/* "#define name value" before the source: what a kernel may be specialised for. */
typedef struct hone_define {
  const char* name;
  int64_t value;
} hone_define;

/* What one run of a node launches, one after another. hone sets all of it to 0 before plan(). */
typedef struct hone_cuda_plan {
  uint32_t launch_count; /* 1 to HONE_MAX_LAUNCHES */
  hone_launch launches[HONE_MAX_LAUNCHES];
  uint32_t define_count;
  hone_define defines[HONE_MAX_DEFINES];
  uint64_t scratch_bytes; /* of device memory, aligned to 64, holding garbage */
  const char* fault_text; /* what the user reads where a kernel reported a fault */
} hone_cuda_plan;

typedef struct hone_gpu {
  int32_t architecture;    /* 90: sm_90 */
  int32_t multiprocessors; /* 132 */
} hone_gpu;

/* hone compiles the source with NVRTC for the GPU that is there, keeps the result in its cache of kernels, and launches it in
 * the plan's stream, usually as nodes of one CUDA graph: launches may allocate, copy and wait for nothing. */
typedef struct hone_cuda_kernel {
  const char* name; /* as of a CPU kernel; unique among the operator's CUDA kernels */
  /* CUDA C++. NVRTC has no headers of the host's; those of the toolkit only where an option names their folder. */
  const char* source;
  /* Options of NVRTC ("--use_fast_math"), `option_count` of them; NULL for 0. Not --gpu-architecture: hone gives it. */
  const char* const* options;
  size_t option_count;
  int (*accepts)(const hone_node* node, hone_error* error); /* as of a CPU kernel */
  /* Fills in what to launch. Called when a plan is made, not when it runs: everything depends on shapes and attributes. */
  int (*plan)(const hone_node* node, const hone_gpu* gpu, hone_cuda_plan* plan, hone_error* error);
} hone_cuda_kernel;

/* --- the operator and the plugin -------------------------------------------------------------------------------------- */

enum {
  /* The same inputs give the same outputs, and nothing else happens: hone may compute it once beforehand where its inputs are
   * constants, and once for two nodes that are alike. Without it neither is done. In any case a node whose outputs nobody
   * reads is not run, nodes run in the order of their data, and no pass fuses anything into it. */
  HONE_PURE = 1
};

typedef struct hone_operator {
  const char* domain; /* as in the model, "mmdeploy"; not ONNX's own "" and not "hone" */
  const char* name;   /* "MMCVMultiScaleDeformableAttention" */
  /* The first version of the domain's operator set with this meaning, from 1 on. A model imports one version v of the domain:
   * it gets the operator with the greatest since_version that is at most v. So one plugin may hold several versions. */
  int32_t since_version;
  const char* summary;              /* one line; may be NULL */
  int32_t min_inputs, max_inputs;   /* max -1: any number */
  int32_t min_outputs, max_outputs; /* at least 1 */
  uint32_t optional_inputs; /* bit i: input i may be absent although it is among the first min_inputs */
  uint32_t flags;
  const hone_attribute_spec* attributes; /* all that a node may have */
  size_t attribute_count;
  /* Types of outputs[0 … node->output_count) from types (and known data) of inputs. Refuse what no kernel can run: the user
   * then reads why when the model is read. */
  int (*infer)(const hone_node* node, hone_tensor_type* outputs, hone_error* error);
  /* The cost of one run; all extents are known, outputs included. NULL: the usual answer. */
  int (*cost)(const hone_node* node, hone_cost* cost, hone_error* error);
  /* The plain, obviously right kernel that the numbers of all others are compared with; sums in double precision. NULL: the
   * first CPU kernel that accepts the node, and reports say so. It computes constants and data-dependent shapes, too, and
   * runs on one thread. */
  const hone_cpu_kernel* reference;
  /* Where there are several, hone measures them for each shape and takes the fastest. */
  const hone_cpu_kernel* const* cpu_kernels;
  size_t cpu_kernel_count;
  const hone_cuda_kernel* const* cuda_kernels;
  size_t cuda_kernel_count;
} hone_operator;

typedef struct hone_plugin {
  int32_t abi;         /* HONE_PLUGIN_ABI; first in every version of this interface */
  const char* name;    /* "msda": A-Z a-z 0-9 _ . -; no two plugins of a name are loaded at a time */
  const char* version; /* "1.0.2", of the same characters. Timings are kept under it and a hash of the file */
  const hone_operator* const* operators;
  size_t operator_count; /* at least 1 */
} hone_plugin;

#if defined(_WIN32)
#define HONE_PLUGIN_EXPORT __declspec(dllexport)
#else
#define HONE_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* What a plugin defines. Called once, when it is loaded. */
HONE_PLUGIN_EXPORT const hone_plugin* hone_plugin_entry(void);

/* --- helpers ----------------------------------------------------------------------------------------------------------- */

/* `return hone_fail(error, "grid is %d", n);` */
static inline int hone_fail(hone_error* error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return 1;
}

static inline const hone_attribute* hone_find_attribute(const hone_node* node, const char* name) {
  for (size_t i = 0; i < node->attribute_count; ++i)
    if (strcmp(node->attributes[i].name, name) == 0) return &node->attributes[i];
  return NULL;
}

/* The value, or `otherwise` where the model gives none. */
static inline int64_t hone_integer(const hone_node* node, const char* name, int64_t otherwise) {
  const hone_attribute* attribute = hone_find_attribute(node, name);
  return attribute != NULL && attribute->kind == HONE_ATTRIBUTE_INT ? attribute->integer : otherwise;
}
static inline double hone_real(const hone_node* node, const char* name, double otherwise) {
  const hone_attribute* attribute = hone_find_attribute(node, name);
  return attribute != NULL && attribute->kind == HONE_ATTRIBUTE_FLOAT ? attribute->real : otherwise;
}
static inline const char* hone_string(const hone_node* node, const char* name, const char* otherwise) {
  const hone_attribute* attribute = hone_find_attribute(node, name);
  return attribute != NULL && attribute->kind == HONE_ATTRIBUTE_STRING ? attribute->string : otherwise;
}

/* Elements of a tensor whose extents are all known. */
static inline int64_t hone_count(const hone_tensor* tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) count *= tensor->shape[i];
  return count;
}

/* The type of a tensor whose rank is known. */
static inline hone_tensor_type hone_type_of(const hone_tensor* tensor) {
  hone_tensor_type type;
  memset(&type, 0, sizeof type);
  type.dtype = tensor->dtype;
  type.rank = tensor->rank;
  for (int32_t i = 0; i < tensor->rank && i < HONE_MAX_RANK; ++i) type.shape[i] = tensor->shape[i];
  return type;
}

/* Begins one more launch of `blocks` × `threads` along x; hone reports one too many. */
static inline hone_launch* hone_add_launch(hone_cuda_plan* plan, const char* entry, uint32_t blocks,
                                           uint32_t threads) {
  const uint32_t at = plan->launch_count < HONE_MAX_LAUNCHES ? plan->launch_count : HONE_MAX_LAUNCHES - 1;
  hone_launch* launch = &plan->launches[at];
  ++plan->launch_count;
  launch->entry = entry;
  launch->grid[0] = blocks;
  launch->block[0] = threads;
  launch->grid[1] = launch->grid[2] = launch->block[1] = launch->block[2] = 1;
  return launch;
}
static inline void hone_add_argument(hone_launch* launch, int32_t kind, int32_t index, int64_t integer,
                                     double real) {
  if (launch->argument_count < HONE_MAX_ARGUMENTS) {
    hone_argument* argument = &launch->arguments[launch->argument_count];
    argument->kind = kind;
    argument->index = index;
    argument->integer = integer;
    argument->real = real;
  }
  ++launch->argument_count;
}
static inline void hone_input_argument(hone_launch* launch, int32_t index) {
  hone_add_argument(launch, HONE_ARGUMENT_INPUT, index, 0, 0);
}
static inline void hone_output_argument(hone_launch* launch, int32_t index) {
  hone_add_argument(launch, HONE_ARGUMENT_OUTPUT, index, 0, 0);
}
static inline void hone_integer_argument(hone_launch* launch, int64_t value) {
  hone_add_argument(launch, HONE_ARGUMENT_INTEGER, 0, value, 0);
}
static inline void hone_real_argument(hone_launch* launch, double value) {
  hone_add_argument(launch, HONE_ARGUMENT_REAL, 0, 0, value);
}
/* The two arguments of a kernel that reports faults: unsigned long long* fault, unsigned long long word. */
static inline void hone_fault_arguments(hone_launch* launch) {
  hone_add_argument(launch, HONE_ARGUMENT_FAULT, 0, 0, 0);
  hone_add_argument(launch, HONE_ARGUMENT_FAULT_WORD, 0, 0, 0);
}
static inline void hone_add_define(hone_cuda_plan* plan, const char* name, int64_t value) {
  if (plan->define_count < HONE_MAX_DEFINES) {
    plan->defines[plan->define_count].name = name;
    plan->defines[plan->define_count].value = value;
  }
  ++plan->define_count;
}

#ifdef __cplusplus
}
#endif

#endif
