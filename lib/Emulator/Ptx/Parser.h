// Parses PTX text (PTX ISA 9.0, chapters 4, 5 and 11) into an AST. It knows directives, scopes and
// the shape of statements, and no instruction: what an opcode means is the decoder's business.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PTX_PARSER_H
#define GIRIH_EMULATOR_PTX_PARSER_H

#include "Emulator/Ptx/Ast.h"

namespace girih::emu::ptx {

/// Parses a module. The AST's names are views into `text`. Problems are in `errors`, with their
/// line.
ModuleAst parseModule(std::string_view text);

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_PARSER_H
