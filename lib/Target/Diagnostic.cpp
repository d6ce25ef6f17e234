//===- Diagnostic.cpp - What the compiler has to say to a user
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/Diagnostic.h"

using namespace girih;
using namespace girih::target;

const char *target::severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  case Severity::Note:
    return "note";
  }
  return "error";
}

Diagnostic target::makeError(std::string message) {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  return diagnostic;
}

std::vector<Place> target::placesOf(const image::LocationTable &table, uint32_t number) {
  std::vector<Place> places;
  for (const image::ResolvedFrame &frame : table.resolve(number))
    places.push_back({frame.function, frame.file, frame.line, frame.column});
  return places;
}

static std::string positionText(const Place &place) {
  std::string file = place.file.empty() ? place.function : place.file;
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string target::render(const Diagnostic &diagnostic) {
  std::string text;
  if (!diagnostic.places.empty())
    text += positionText(diagnostic.places.front()) + ": ";
  text += std::string(severityName(diagnostic.severity)) + ": " + diagnostic.message + "\n";
  for (size_t i = 1; i < diagnostic.places.size(); ++i) {
    text += positionText(diagnostic.places[i]) + ": note: called from here";
    if (!diagnostic.places[i].function.empty())
      text += " (in " + diagnostic.places[i].function + ")";
    text += "\n";
  }
  for (const Diagnostic &note : diagnostic.notes)
    text += render(note);
  return text;
}
