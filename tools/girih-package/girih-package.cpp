//===- girih-package.cpp - What is in a package
//----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/PackageText.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace girih::runtime;

static const char *const usage = R"(girih-package: what is in a package of kernels

  girih-package show FILE                    prints kernels, variants, resources and requirements
  girih-package header FILE [-o HEADER.h]    writes a C header with a typed function for each kernel

Functions in the header are called after the package: kernels.girih has kernels_matmul. A package is
written by girih-export or by kernel.export in Python, and called by libgirih_runtime
(girih/Runtime/girih.h) or by girih.load in Python.
)";

static int fail(const std::string &message, int status = 1) {
  std::cerr << "girih-package: error: " << message << "\n";
  return status;
}

static std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  if (file)
    bytes << file.rdbuf();
  if (!file.is_open() || file.bad())
    throw Error(std::string("cannot read it: ") + std::strerror(errno));
  return bytes.str();
}

static int writeHeader(const std::string &path, const std::string &output) {
  std::string text =
      packageHeader(Package(readFile(path)), std::filesystem::path(path).stem().string());
  if (output.empty()) {
    std::cout << text;
    return 0;
  }
  std::ofstream file(output, std::ios::binary);
  file << text;
  file.close();
  return file ? 0 : fail("cannot write " + output + ": " + std::strerror(errno));
}

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h" || words[0] == "help")) {
    std::cout << usage;
    return 0;
  }
  try {
    if (words.size() == 2 && words[0] == "show") {
      std::cout << packageText(readFile(words[1]));
      return 0;
    }
    if (words.size() == 2 && words[0] == "header")
      return writeHeader(words[1], "");
    if (words.size() == 4 && words[0] == "header" && words[2] == "-o")
      return writeHeader(words[1], words[3]);
  } catch (const Error &error) {
    return fail((words.size() > 1 ? words[1] + ": " : "") + error.what());
  }
  std::cerr << usage;
  return 2;
}
