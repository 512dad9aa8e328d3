#pragma once

#include <cstdlib>
#include <string>

namespace pptrain::test {

/// An environment variable while this lives; it was not set before.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace pptrain::test
