// Tree -> program: resolves each name to a slot, as jinja2's idtracking and compiler modules do. A
// template, a macro and a recursive loop are functions with a frame of slots each; a variable lives
// in the function whose scope first stores or reads it.
#pragma once

#include "text/jinja/ast.h"

namespace moxie::text::jinja {

// Throws SyntaxError for names of filters and tests that do not exist (where jinja2 refuses them
// when compiling) and for other faults the compiler finds.
Program Bind(Body body);

}  // namespace moxie::text::jinja
