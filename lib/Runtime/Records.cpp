//===- Records.cpp - What kernels tell the host: prints and failed assertions
//--------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Records.h"

#include "FloatBits.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace girih::runtime {
namespace {

/// The fewest digits that read back as the number, as Python writes them: with an exponent below
/// 1e-4 and from 1e16 on, and showing that it is a float.
template <typename T> std::string shortest(T number) {
  char buffer[64];
  auto print = [&](std::chars_format format) {
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number, format).ptr);
  };
  std::string text = print(std::chars_format::scientific);
  size_t e = text.find('e');
  if (e == std::string::npos) // inf, nan
    return text;
  int exponent = std::stoi(text.substr(e + 1));
  if (exponent < -4 || exponent >= 16)
    return text;
  text = print(std::chars_format::fixed);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

/// "[3, 5]": the index of element number `element` of a shape, "" for a scalar.
std::string indexText(uint64_t element, const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t dim = shape.size(); dim-- > 0;) {
    std::string part = std::to_string(element % shape[dim]);
    text = text.empty() ? part : part + ", " + text;
    element /= shape[dim];
  }
  return text.empty() ? "" : "[" + text + "]";
}

struct Sorted {
  const Record *record;
  uint64_t visit;
};

} // namespace

std::string numberText(DType type, uint64_t bits) {
  size_t width = 8 * sizeInBytes(type);
  if (width < 64)
    bits &= (uint64_t{1} << width) - 1;
  if (type == DType::B1)
    return bits & 1 ? "True" : "False";
  if (!isInteger(type)) {
    double number = floatValue(type, bits);
    // Numbers of the narrow types are floats, and need the fewest digits as such.
    return type == DType::F64 ? shortest(number) : shortest(static_cast<float>(number));
  }
  if (rangeOf(type).low == 0)
    return std::to_string(bits);
  auto number = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  return std::to_string(number);
}

Report makeReport(const std::vector<Record> &records, const std::vector<const Step *> &sites,
                  uint64_t dropped) {
  std::map<uint32_t, const Step *> known;
  for (const Step *site : sites)
    known[site->site] = site;
  // One thread writes all records of an element of a CTA, so their order is that of its program.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> visits;
  std::vector<Sorted> sorted;
  for (const Record &record : records)
    if (known.count(record.site))
      sorted.push_back({&record, visits[{record.cta, record.site, record.element}]++});
  std::sort(sorted.begin(), sorted.end(), [](const Sorted &a, const Sorted &b) {
    return std::tie(a.record->cta, a.visit, a.record->site, a.record->element) <
           std::tie(b.record->cta, b.visit, b.record->site, b.record->element);
  });
  Report report;
  for (const Sorted &entry : sorted) {
    const Record &record = *entry.record;
    const Step &site = *known[record.site];
    std::string cta = " (cta " + std::to_string(record.cta) + ")";
    if (site.kind == StepKind::Print) {
      report.text += site.message + indexText(record.element, site.shape) + " = " +
                     numberText(site.dtype, record.value) + cta + "\n";
    } else if (!report.failed) {
      report.failed = &site;
      report.failedAt = cta;
    }
  }
  if (dropped > 0)
    report.text +=
        "... and " + std::to_string(dropped) + " more records, for which there was no room\n";
  return report;
}

} // namespace girih::runtime
