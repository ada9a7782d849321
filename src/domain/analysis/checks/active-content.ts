import { type Check, discovery } from '../discovery.ts';

/** What readers strip from mail, or take for an attack; and styles that most do not load. */
export const activeContent: Check = function* ({ html }) {
  for (const { what, offset } of html?.activeContents ?? []) {
    yield discovery('active-content', 'html', () => `${what} does not work in mail`, offset);
  }
  for (const { what, offset } of html?.externalStyles ?? []) {
    yield discovery('external-style', 'html', () => `${what} loads a style sheet, which most readers do not`, offset);
  }
};
