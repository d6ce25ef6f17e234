//===- Error.h - What can go wrong between a call and its result
//---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime throws these; each what() is complete and meant for the user. Python sees them as
// girih.GirihError and its subclasses.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_ERROR_H
#define GIRIH_RUNTIME_ERROR_H

#include <stdexcept>
#include <string>

/// Marks what libgirih_runtime.so exports; everything else in it is hidden.
#define GIRIH_RUNTIME_API __attribute__((visibility("default")))

namespace girih::runtime {

/// Base of all errors; thrown itself for a package that is damaged or that this runtime cannot
/// read.
class GIRIH_RUNTIME_API Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A call whose arguments the kernel cannot take.
class GIRIH_RUNTIME_API LaunchError : public Error {
  using Error::Error;
};

/// No device, or a device that stopped the kernel: the text holds the findings.
class GIRIH_RUNTIME_API DeviceError : public Error {
public:
  explicit DeviceError(const std::string &message, std::string findings = "[]")
      : Error(message), json(std::move(findings)) {}

  /// What the emulated device found, as a JSON array of objects; "[]" for any other error.
  const std::string &findings() const { return json; }

private:
  std::string json;
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_ERROR_H
