// Choosing forms of composites, and inlining them.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::passes {

// before: composites with one or more forms
// after:  each composite has one form left: the first name in `preferred` that it offers
// error:  a composite that offers none of them, naming what it offers
Result<ir::Graph> ChooseForms(ir::Graph graph, std::span<const std::string_view> preferred);

// before: composites whose form is chosen, nested in one another and in repeats
// after:  no composite is left; each call is replaced by its form's ops, which keep their own
// origins right:  a region sees only its parameters, so substitution of operands is all there is to
// do
Result<ir::Graph> InlineComposites(const ir::Graph& graph);

}  // namespace moxie::passes
