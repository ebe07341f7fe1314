// Source -> tree. The grammar is jinja2's, with the loopcontrols extension and chat templates'
// `generation` blocks; tags that load or inherit other templates are refused by name.
#pragma once

#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace moxie::text::jinja {

// Throws SyntaxError.
Body ParseTemplate(std::string_view source);

}  // namespace moxie::text::jinja
