import { type Check, discovery } from '../discovery.ts';
import type { HiddenTextFact, HtmlFacts } from '../facts.ts';

/** The line that lists of mails show after the subject is hidden in the mail itself: so long it may be. */
const PREHEADER_CHARACTERS_MAX = 200;

const isPreheader = ({ atStart, characters }: HiddenTextFact, index: number): boolean =>
  index === 0 && atStart && characters <= PREHEADER_CHARACTERS_MAX;

/** A style sheet with media queries shows it on other screens; so is mail made that fits them. */
const isForOtherScreens = ({ selectable }: HiddenTextFact, { hasMediaQueries }: HtmlFacts): boolean =>
  selectable && hasMediaQueries;

/** Text that filters read and people do not. Styles are judged where they stand inline; style sheets are not applied. */
export const hiddenText: Check = function* ({ html }) {
  for (const [index, hidden] of (html?.hiddenTexts ?? []).entries()) {
    if (html === null || isPreheader(hidden, index) || isForOtherScreens(hidden, html)) continue;
    const { by, characters, offset } = hidden;
    yield discovery('hidden-text', 'html', () => `text of length ${characters} is hidden by ${by}`, offset);
  }
};
