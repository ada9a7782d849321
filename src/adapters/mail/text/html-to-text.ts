import { createHtmlEntities } from './html-entities.ts';
import { type Attributes, createTextBuilder } from './text-builder.ts';
import { textElement } from './text-elements.ts';
import { tokenize } from './tokenize.ts';

const ATTRIBUTES = new Map<string, keyof Attributes>([
  ['alt', 'alt'],
  ['hidden', 'hidden'],
  ['href', 'href'],
  ['start', 'start'],
  ['style', 'style'],
  ['value', 'value'],
]);
const ATTRIBUTE_NAME_CHARACTERS_MAX = 6;

const NO_ATTRIBUTES: Attributes = {
  alt: undefined,
  hidden: undefined,
  href: undefined,
  start: undefined,
  style: undefined,
  value: undefined,
};

const knownAttribute = (name: string): keyof Attributes | undefined =>
  ATTRIBUTES.get(name) ?? ATTRIBUTES.get(name.toLowerCase());

/**
 * The text alternative of a body that came as html alone: links in brackets, images as their alternatives, lines of 78
 * characters where words allow it. One pass without a tree: linear in the size, whatever it holds. (The `Parser` of the
 * library is not: the time that it takes for nested elements grows with the square of their depth.)
 */
export const htmlToText = (html: string): string => {
  const builder = createTextBuilder();
  const entities = createHtmlEntities();
  let element = textElement('');
  let attributes: { -readonly [name in keyof Attributes]: string | undefined } | undefined;
  let attribute: keyof Attributes | undefined;
  let value = '';

  const keepAttribute = (name: keyof Attributes): void => {
    attributes ??= { ...NO_ATTRIBUTES };
    attributes[name] ??= entities.inAttribute(value);
  };

  tokenize(html, false, {
    ontext: (start, end) => builder.text(entities.inText(html.slice(start, end))),
    onopentagname: (start, end) => {
      element = textElement(html.slice(start, end));
      attributes = undefined;
    },
    onopentagend: () => builder.start(element, attributes ?? NO_ATTRIBUTES, false),
    onselfclosingtag: () => builder.start(element, attributes ?? NO_ATTRIBUTES, true),
    onclosetag: (start, end) => builder.end(textElement(html.slice(start, end))),
    onattribname: (start, end) => {
      const isShort = end - start <= ATTRIBUTE_NAME_CHARACTERS_MAX;
      attribute = isShort ? knownAttribute(html.slice(start, end)) : undefined;
      value = '';
    },
    onattribdata: (start, end) => {
      if (attribute !== undefined) value += html.slice(start, end);
    },
    onattribend: () => {
      if (attribute !== undefined) keepAttribute(attribute);
    },
  });
  return builder.finish();
};
