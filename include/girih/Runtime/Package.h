//===- Package.h - Kernels from a package file, ready to be called
//---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the whole of calling a shipped kernel from C++:
//
//   auto package = girih::runtime::Package::load("kernels.girih");
//   package->kernel("matmul").launch(girih::runtime::Device::get(), {a, b, c});
//
// C programs, and those built with another compiler, use girih.h.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_PACKAGE_H
#define GIRIH_RUNTIME_PACKAGE_H

#include "girih/Runtime/PackageIndex.h"
#include "girih/Runtime/Program.h"

namespace girih::runtime {

/// A kernel of a package: one program for each of its variants.
class GIRIH_RUNTIME_API PackagedKernel {
public:
  PackagedKernel(const PackagedKernel &) = delete;
  PackagedKernel &operator=(const PackagedKernel &) = delete;

  const KernelEntry &entry() const { return contents; }
  /// The program of a variant; nullptr if it is for an architecture of which this runtime knows
  /// nothing.
  const Program *program(size_t variant) const { return programs[variant].get(); }
  Program *program(size_t variant) { return programs[variant].get(); }

  /// The first variant for the device's architecture that takes `arguments`, one for each parameter
  /// of the kernel (Absent for an optional one without an argument). Throws LaunchError: for each
  /// variant, which of its constraints is violated and by what value; DeviceError if no variant is
  /// for this architecture.
  size_t choose(const Device &device, const std::vector<Argument> &arguments) const;

  /// As Program::launch, with the variant that `choose` finds.
  Wait launch(Device &device, const std::vector<Argument> &arguments,
              cuda::CUstream stream = nullptr, const Interrupted &interrupted = {},
              const Print &print = {});

private:
  friend class Package;
  PackagedKernel(KernelEntry entry, const std::vector<std::string_view> &images);
  bool takes(size_t variant, const std::vector<Argument> &arguments) const;
  std::string whyNot(size_t variant, const std::vector<Argument> &arguments) const;

  KernelEntry contents;
  std::vector<std::unique_ptr<Program>> programs; ///< one per variant
};

/// An image for a package, and where its functions stand in the source.
struct ImageToPack {
  std::string_view bytes;
  std::vector<Source> sources;
};

class GIRIH_RUNTIME_API Package {
public:
  /// The bytes of a package with this index (docs/Packages.md) and these images. Throws Error if
  /// they do not fit together.
  static std::string write(std::string_view index, const std::vector<ImageToPack> &images);

  /// Reads a package from memory; the bytes are not needed afterwards. Touches no device. Throws
  /// Error if the package is damaged, of a newer schema or of another ABI.
  explicit Package(std::string_view bytes);
  Package(const Package &) = delete;
  Package &operator=(const Package &) = delete;
  /// The same from a file. Throws Error if it cannot be read; messages name the file.
  static std::unique_ptr<Package> load(const std::string &path);

  /// "girih 0.1.0", which wrote it.
  const std::string &writer() const { return writtenBy; }
  const std::vector<std::unique_ptr<PackagedKernel>> &kernels() const { return entries; }
  /// Throws LaunchError if the package has no kernel of that name; the message lists those it has.
  PackagedKernel &kernel(std::string_view name) const;

private:
  std::string writtenBy;
  std::vector<std::unique_ptr<PackagedKernel>> entries;
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_PACKAGE_H
