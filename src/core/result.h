// Result<T>: a value or an Error, for boundaries where failure is normal (files, models, user input).
// Exceptions stay for bugs and unrecoverable states. Error text: what was being done, with what file or node,
// what went wrong, what to do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace hone {

// What kind of failure it was, for callers that react to it. The message is for people.
enum class ErrorCode {
  kInvalidArgument,  // the caller's input is wrong
  kNotFound,         // a file, name or device that is not there
  kUnsupported,      // valid, but hone cannot do it (yet); the message names the operator or feature
  kCorrupt,          // data that breaks its own format
  kIo,               // the operating system refused
  kCancelled,        // interrupted by the user
};

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;

  // The same error with where it happened put in front: "model.onnx: node 'x': …".
  Error within(const std::string& where) const { return {code, where + ": " + message}; }
};

inline Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }
inline Error not_found(std::string message) { return {ErrorCode::kNotFound, std::move(message)}; }
inline Error unsupported(std::string message) { return {ErrorCode::kUnsupported, std::move(message)}; }
inline Error corrupt(std::string message) { return {ErrorCode::kCorrupt, std::move(message)}; }
inline Error io_error(std::string message) { return {ErrorCode::kIo, std::move(message)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: a value is a Result
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: an error is a Result

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// A Result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: an error is a Status

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace hone

// The two ways to pass a failure on. Macros because only a macro can return from its caller.
#define HONE_CONCAT_INNER(a, b) a##b
#define HONE_CONCAT(a, b) HONE_CONCAT_INNER(a, b)
// HONE_CHECK(expression of type Status or Result): return its error, if it is one.
#define HONE_CHECK(expression)                         \
  do {                                                 \
    auto&& hone_status = (expression);                 \
    if (!hone_status.ok()) return hone_status.error(); \
  } while (false)
// HONE_ASSIGN(auto x, expression of type Result<T>): x = its value, or return its error.
#define HONE_ASSIGN(declaration, expression) \
  HONE_ASSIGN_IMPL(declaration, (expression), HONE_CONCAT(hone_result_, __LINE__))
#define HONE_ASSIGN_IMPL(declaration, expression, result) \
  auto result = expression;                               \
  if (!result.ok()) return result.error();                \
  declaration = *std::move(result)
