// A canned reply is read as the server reads it, and filled in with what is known.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fill, read } from "../app/pages/settings/variables.js";

test("what is wrong with a variable is found, and nothing else", () => {
  for (const [text, fault] of [
    ["We open at nine.", null],
    ['{"a": {"b": 1}}', null],
    ["Hi {{contact.first_name}}, {{agent.name}} here.", null],
    ['Hi {{ contact.name | "there" }}!', null],
    ['{{contact.name|""}}{{contact.phone|"}} or | so"}}', null],
    ["{{channel.title}}", null],
    ["Hi {{contact.nmae}}", "unknown"],
    ["Hi {{contact.name}} {{Contact.Name}}", "unknown"],
    ["{{}}", "unknown"],
    ["{{contact.name", "malformed"],
    ["{{contact.name}", "malformed"],
    ["{{contact.name|there}}", "malformed"],
    ['{{contact.name|"there}}', "malformed"],
    ['{{contact.name|"there" or so}}', "malformed"],
  ]) assert.equal(read(text).fault?.kind ?? null, fault, text);
});

test("what is known is filled in, and what is not stays in sight or has something instead", () => {
  const known = { "contact.name": "Mei {{agent.name}}", "contact.phone": "" };
  assert.equal(fill("Hi {{contact.name}}!", known), "Hi Mei {{agent.name}}!", "what is filled in is not filled in again");
  assert.equal(fill('{{contact.phone|"no phone"}} {{agent.name}}', known), "no phone {{agent.name}}");
  assert.equal(fill('{{contact.phone|""}}.', known), ".");
});
