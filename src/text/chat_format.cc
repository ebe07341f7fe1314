#include "text/chat_format.h"

#include <algorithm>
#include <string>
#include <vector>

#include "text/jinja/parser.h"

namespace moxie::text {
namespace {

using jinja::Node;

template <typename T>
void Collect(Node& node, Node::Kind kind, std::vector<T*>& out) {
  if (node.kind == kind) out.push_back(static_cast<T*>(&node));
  node.Children([&](Node& child) { Collect(child, kind, out); });
}

const jinja::Name* AsName(const Node* node) {
  return node->kind == Node::Kind::kName ? static_cast<const jinja::Name*>(node) : nullptr;
}

bool IsName(const Node* node, std::string_view name) {
  const jinja::Name* n = AsName(node);
  return n != nullptr && n->context == jinja::Name::kLoad && n->name == name;
}

// `name.key` or `name['key']`.
bool IsAttribute(const Node* node, std::string_view name, std::string_view key) {
  if (node->kind == Node::Kind::kGetattr) {
    auto* getattr = static_cast<const jinja::Getattr*>(node);
    return IsName(getattr->object.get(), name) && getattr->attribute == key;
  }
  if (node->kind != Node::Kind::kGetitem) return false;
  auto* getitem = static_cast<const jinja::Getitem*>(node);
  if (!IsName(getitem->object.get(), name)) return false;
  if (getitem->index->kind != Node::Kind::kConst) return false;
  auto* text = static_cast<const jinja::Const*>(getitem->index.get())->value.text();
  return text != nullptr && text->view() == key;
}

// The variable (or its `key`), perhaps sliced, filtered or tested.
bool IsAccess(const Node* node, std::string_view name, std::string_view key = "") {
  if (node->kind == Node::Kind::kFilter) {
    auto* operand = static_cast<const jinja::Filter*>(node)->operand.get();
    return operand != nullptr && IsAccess(operand, name, key);
  }
  if (node->kind == Node::Kind::kTest) {
    return IsAccess(static_cast<const jinja::Test*>(node)->operand.get(), name, key);
  }
  if (node->kind == Node::Kind::kGetitem) {
    auto* getitem = static_cast<const jinja::Getitem*>(node);
    if (getitem->index->kind == Node::Kind::kSlice) {
      return IsAccess(getitem->object.get(), name, key);
    }
  }
  return key.empty() ? IsName(node, name) : IsAttribute(node, name, key);
}

// Thrown where vLLM's detection gives up: an access is assigned to something that is no plain name.
struct NotAName {};

const std::string& TargetName(const Node* target) {
  const jinja::Name* name = AsName(target);
  if (name == nullptr) throw NotAName();
  return name->name;
}

// "messages" and all names assigned from it.
std::vector<std::string> MessageLists(const std::vector<jinja::Assign*>& assigns) {
  std::vector<std::string> names = {"messages"};
  for (size_t i = 0; i < names.size(); ++i) {
    for (const jinja::Assign* assign : assigns) {
      if (!IsAccess(assign->value.get(), names[i])) continue;
      const std::string& name = TargetName(assign->target.get());
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool AnyAccess(const Node* node, const std::vector<std::string>& names, std::string_view key) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return IsAccess(node, name, key); });
}

bool LoopsOverContent(jinja::Body& body) {
  std::vector<jinja::Assign*> assigns;
  std::vector<jinja::For*> loops;
  for (auto& node : body) {
    Collect(*node, Node::Kind::kAssign, assigns);
    Collect(*node, Node::Kind::kFor, loops);
  }
  std::vector<std::string> lists = MessageLists(assigns), messages;
  for (const jinja::For* loop : loops) {
    if (AnyAccess(loop->iter.get(), lists, "")) messages.push_back(TargetName(loop->target.get()));
  }
  return std::any_of(loops.begin(), loops.end(), [&](const jinja::For* loop) {
    return IsName(loop->iter.get(), "content") || AnyAccess(loop->iter.get(), messages, "content");
  });
}

}  // namespace

ContentFormat DetectContentFormat(std::string_view source) {
  try {
    jinja::Body body = jinja::ParseTemplate(source);
    return LoopsOverContent(body) ? ContentFormat::kParts : ContentFormat::kString;
  } catch (const NotAName&) {
    return ContentFormat::kString;
  } catch (const jinja::SyntaxError&) {
    return ContentFormat::kString;
  }
}

}  // namespace moxie::text
