import type { HiddenTextFact, Span } from '../../domain/analysis/facts.ts';
import { seenCharacters } from '../../domain/analysis/text.ts';
import type { OpenElement } from './open-elements.ts';
import { type Hider, hiderOf } from './visibility.ts';

/** As much as is compared with the plain text; the rest is only counted. */
const VISIBLE_KEPT_MAX = 20_000;

type Amount = Pick<HiddenTextFact, 'characters' | 'atStart'>;

/** Text between two tags. */
export interface TextRun {
  readonly start: number;
  readonly end: number;
  /** Its references decoded. */
  readonly text: string;
}

/** Sorts text into what is seen and what is not. */
export const createTextCollector = () => {
  const spans: Span[] = [];
  const hidden = new Map<Hider, Amount>();
  const visible: string[] = [];
  let visibleKept = 0;
  let visibleCharacters = 0;

  const hide = (hider: Hider, characters: number): void => {
    const { characters: before, atStart } = hidden.get(hider) ?? { characters: 0, atStart: visibleCharacters === 0 };
    hidden.set(hider, { characters: before + characters, atStart });
  };

  const show = (text: string, characters: number): void => {
    visibleCharacters += characters;
    if (visibleKept >= VISIBLE_KEPT_MAX) return;
    visible.push(text);
    visibleKept += text.length;
  };

  return {
    spans,
    add: ({ start, end, text }: TextRun, { kind, visibility }: OpenElement): void => {
      spans.push({ start, end, kind: 'text' });
      const characters = kind === 'body' ? seenCharacters(text) : 0;
      if (characters === 0) return;
      const hider = hiderOf(visibility);
      if (hider === null) show(text, characters);
      else hide(hider, characters);
    },
    facts: () => ({
      spans,
      hiddenTexts: Array.from(hidden, ([hider, amount]): HiddenTextFact => ({ ...hider, ...amount })),
      visibleText: visible.join(' ').slice(0, VISIBLE_KEPT_MAX),
      visibleCharacters,
    }),
  };
};
