/* A plugin in C99 for tests: test.Scale, y = factor · x. HONE_TEST_PLUGIN in the environment names what is wrong with it. */
#include <hone/plugin.h>
#include <stdlib.h>

static int is(const char* fault) {
  const char* const given = getenv("HONE_TEST_PLUGIN");
  return given != NULL && strcmp(given, fault) == 0;
}

static int infer(const hone_node* node, hone_tensor_type* outputs, hone_error* error) {
  if (node->inputs[0]->dtype != HONE_F32) return hone_fail(error, "x must be f32");
  if (node->inputs[0]->rank < 0) return hone_fail(error, "x has no rank");
  outputs[0] = hone_type_of(node->inputs[0]);
  if (is("negative shape")) outputs[0].shape[0] = -7;
  if (is("other rank")) outputs[0].rank = 5;
  if (is("huge shape")) outputs[0].shape[0] = INT64_MAX / 2;
  if (is("no type")) outputs[0].rank = -1;
  return 0;
}

static int run(const hone_node* node, const hone_cpu_call* call, hone_error* error) {
  const float factor = (float)hone_real(node, "factor", 2);
  const float* const x = (const float*)node->inputs[0]->data;
  float* const y = (float*)node->outputs[0]->data;
  int64_t i;
  (void)call;
  if (is("failing kernel")) return hone_fail(error, "the moon is in the way");
  for (i = 0; i < hone_count(node->inputs[0]); ++i) y[i] = factor * x[i];
  return 0;
}

static const hone_attribute_spec kAttributes[] = {{"factor", HONE_ATTRIBUTE_FLOAT, 0}};
static const hone_cpu_kernel kPlain = {.name = "plain", .run = run};
static const hone_cpu_kernel kNull = {.name = "plain"};
static const hone_cpu_kernel* kKernels[] = {&kPlain};
static hone_operator kScale = {.domain = "test",
                               .name = "Scale",
                               .since_version = 1,
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .min_outputs = 1,
                               .max_outputs = 1,
                               .flags = HONE_PURE,
                               .attributes = kAttributes,
                               .attribute_count = 1,
                               .infer = infer,
                               .cpu_kernels = kKernels,
                               .cpu_kernel_count = 1};
static const hone_operator* kOperators[] = {&kScale};
static hone_plugin kPlugin = {HONE_PLUGIN_ABI, "fixture", "0.1", kOperators, 1};

HONE_PLUGIN_EXPORT const hone_plugin* hone_plugin_entry(void) {
  if (is("no plugin")) return NULL;
  if (is("newer interface")) kPlugin.abi = HONE_PLUGIN_ABI + 1;
  if (is("null kernel")) kKernels[0] = &kNull;
  if (is("an operator of hone's")) kScale.domain = "";
  if (is("an operator of hone's")) kScale.name = "Conv";
  if (is("not pure")) kScale.flags = 0;
  if (is("newer operator")) kScale.since_version = 3;
  return &kPlugin;
}
