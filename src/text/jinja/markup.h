// The filters that know HTML and URLs.
#pragma once

#include "text/jinja/ops.h"

namespace moxie::text::jinja {

// & < > ' " as entities.
Text EscapeHtml(const Text& text);

// markupsafe.escape(value): Markup as it is, anything else as the Markup of its escaped str.
Text Escape(Interp& interp, const Value& value);

// Entities as characters: HTML's whole table of them would be needed, so a text that has any is
// refused (kUnsupported).
Text Unescape(const Text& text);

// Without tags and comments, runs of whitespace made one space, unescaped.
Text StripTags(const Text& text);

// urllib.parse.quote; with `query`, a space becomes a plus and a slash is quoted too.
Text QuoteUrl(const Text& text, bool query);

}  // namespace moxie::text::jinja
