import { type Token, Tokenizer } from 'parse5';
import type { HtmlFacts, ImageFact } from '../../domain/analysis/facts.ts';
import { VOID_ELEMENTS } from '../html-checker/elements.ts';
import { TEXT_MODES } from '../html-checker/text-modes.ts';
import { attributeSpans } from './attribute-spans.ts';
import { createDocumentCollector } from './document-collector.ts';
import { createLinkCollector } from './link-collector.ts';
import { createOpenElements, type TextKind } from './open-elements.ts';
import { readImage } from './read-image.ts';
import { type StartTag, startTagOf } from './start-tag.ts';
import { createTextCollector } from './text-collector.ts';
import { ORDINARY, visibilityIn } from './visibility.ts';

const RAW: ReadonlySet<string> = new Set(['style', 'script', 'xml']);
const UNSEEN: ReadonlySet<string> = new Set('head title textarea iframe noembed noframes template object'.split(' '));

const kindIn = (kind: TextKind, name: string): TextKind => {
  if (RAW.has(name)) return 'raw';
  return UNSEEN.has(name) && kind === 'body' ? 'unseen' : kind;
};

/**
 * All that the rules ask of the html but whether it is valid, from one pass over the standard's tokens (parse5). No
 * tree is built: time and memory are linear in the size whatever is sent, and the stack of open elements is bounded.
 */
export const readHtml = (source: string): Omit<HtmlFacts, 'problems'> => {
  const open = createOpenElements({ name: '', visibility: ORDINARY, kind: 'body' });
  const texts = createTextCollector();
  const links = createLinkCollector();
  const document = createDocumentCollector();
  const images: ImageFact[] = [];
  /** Text since the last tag. */
  let pending = '';
  let pendingStart = 0;

  const flush = (end: number): void => {
    if (pending === '') return;
    const text = pending;
    pending = '';
    const element = open.top();
    if (element.name === 'style') document.css(source.slice(pendingStart, end), pendingStart);
    if (element.kind === 'raw') return;
    texts.add({ start: pendingStart, end, text }, element);
    links.text(text);
  };

  const onText = ({ chars, location }: Token.CharacterToken): void => {
    if (pending === '') pendingStart = location?.startOffset ?? 0;
    pending += chars;
  };

  const readElement = (tag: StartTag): void => {
    if (tag.name === 'a') links.start(tag);
    if (tag.name === 'area') links.area(tag);
    document.tag(tag);
    for (const span of attributeSpans(tag.token)) texts.spans.push(span);
  };

  const isComplete = ({ name, token }: StartTag): boolean =>
    VOID_ELEMENTS.has(name) || (token.selfClosing && (name.includes(':') || open.isInForeign()));

  const openElement = (tag: StartTag): void => {
    const { name } = tag;
    open.endImplied(name);
    const { visibility: outer, kind } = open.top();
    const visibility = visibilityIn(outer, tag);
    if (name === 'img') images.push(readImage(tag, visibility));
    if (!isComplete(tag)) open.push({ name, visibility, kind: kindIn(kind, name) });
  };

  const tokenizer: Tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: (token) => {
        const tag = startTagOf(token);
        flush(tag.offset);
        readElement(tag);
        openElement(tag);
        tokenizer.inForeignNode = open.isInForeign();
        const mode = tokenizer.inForeignNode ? undefined : TEXT_MODES.get(tag.name);
        if (mode !== undefined) tokenizer.state = mode;
      },
      onEndTag: ({ tagName, location }) => {
        flush(location?.startOffset ?? 0);
        if (tagName === 'a') links.end();
        open.end(tagName);
        tokenizer.inForeignNode = open.isInForeign();
      },
      onComment: ({ location }) => flush(location?.startOffset ?? 0),
      onDoctype: ({ location }) => flush(location?.startOffset ?? 0),
      onEof: () => {
        flush(source.length);
        links.end();
      },
      onCharacter: onText,
      onNullCharacter: onText,
      onWhitespaceCharacter: onText,
    },
  );
  tokenizer.write(source, true);
  return {
    ...{ source, images, links: links.links, depth: open.depth() },
    ...document.facts(),
    ...texts.facts(),
  };
};
