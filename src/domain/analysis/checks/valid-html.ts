import { type Check, discovery } from '../discovery.ts';

/** Elements within elements; some readers give up before this, and no mail needs it. */
const DEPTH_MAX = 100;

/** What a send would refuse, and what is right and makes trouble all the same. */
export const validHtml: Check = function* ({ html }) {
  if (html === null) return;
  for (const { line, column, message } of html.problems) {
    yield discovery('html-invalid', 'html', `not valid HTML: ${message}`, { line, column });
  }
  if (html.depth > DEPTH_MAX) yield discovery('html-deep', 'html', `elements are nested ${html.depth} deep`);
  if (html.root?.lang === '') {
    yield discovery('html-lang-missing', 'html', 'the html element has no lang', html.root.offset);
  }
};
