import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { focusScreen, useShortcuts } from '../data/shortcuts.ts';
import { type Offer, type Problem, replaced, tokenAt } from '../data/tokens.ts';
import { Icon } from './icons.tsx';

/**
 * A search field for several filters at once. It completes the one being typed. What cannot be used stays in the field,
 * with what is wrong and what would work.
 */

const CHARACTERS_MAX = 1_000;
/** Higher: a list that is longer to read than to type. Lower: the 15 statuses and outcomes are not all offered. */
const OFFERS_MAX = 20;

interface TokenSearchProps {
  readonly label: string;
  readonly placeholder: string;
  /** Filters in use, as chips. */
  readonly children: ComponentChildren;
  /** Completions for a token, best first. */
  offersFor(token: ReturnType<typeof tokenAt>): readonly Offer[];
  /** Notes what is being typed, for completions that the service has to look up. */
  onToken?(token: string): void;
  /** Applies the text. @returns problems; none: the field is cleared. */
  search(text: string): readonly Problem[];
  /** Removes the last chip. */
  removeLast(): void;
}

interface ProblemsProps {
  readonly problems: readonly Problem[];
  fix(problem: Problem, by: string): void;
}

const Problems = ({ problems, fix }: ProblemsProps): JSX.Element => (
  <div role="alert">
    <ul class="search-problems">
      {problems.map((problem) => (
        <li key={`${problem.from} ${problem.message}`}>
          <bdi>{problem.message}</bdi>
          {problem.fixes.map((by) => (
            <button key={by} type="button" class="btn small" onClick={() => fix(problem, by)}>
              {by === '' ? 'Remove it' : <bdi class="ell">Use {by}</bdi>}
            </button>
          ))}
        </li>
      ))}
    </ul>
  </div>
);

interface OffersProps {
  readonly id: string;
  readonly offers: readonly Offer[];
  readonly active: number;
  take(offer: Offer): void;
}

const Offers = ({ id, offers, active, take }: OffersProps): JSX.Element => {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: 'nearest' }), [active]);
  return (
    <div ref={list} id={id} role="listbox" aria-label="Completions" class="offers">
      {offers.map(({ text, about }, at) => (
        <div
          key={text}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === active}
          // The field keeps the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => take({ text })}
          onKeyDown={() => undefined}
        >
          <bdi class="ell">{text}</bdi>
          {about !== undefined && <small class="ell">{about}</small>}
        </div>
      ))}
    </div>
  );
};

interface ListState {
  readonly id: string;
  readonly isShown: boolean;
  /** null: no completion is chosen. */
  readonly active: number | null;
}

/** Attributes of a combobox (ARIA 1.2). */
const attributesOf = ({ id, isShown, active }: ListState) => ({
  ...(isShown && { 'aria-controls': id }),
  ...(active !== null && { 'aria-activedescendant': `${id}-${active}` }),
});

export const TokenSearch = (props: TokenSearchProps): JSX.Element => {
  const { label, placeholder, children, offersFor, onToken, search, removeLast } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [{ text, caret }, type] = useState({ text: '', caret: 0 });
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [isOpen, open] = useState(false);
  const [active, activate] = useState(-1);
  useShortcuts({ '/': () => input.current?.focus() });
  const token = tokenAt(text, caret);
  const offers = offersFor(token).slice(0, OFFERS_MAX);
  const isShown = isOpen && offers.length > 0;
  useEffect(() => onToken?.(token.text), [token.text]);
  /** Position of the caret after a choice has changed the text. */
  const jump = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (jump.current !== null) input.current?.setSelectionRange(jump.current, jump.current);
    jump.current = null;
  }, [text]);

  const change = (next: { readonly text: string; readonly caret: number }): void => {
    type(next);
    setProblems([]);
    activate(-1);
    open(true);
  };
  const put = (part: Pick<Problem, 'from' | 'to'>, by: string): void => {
    const next = replaced(text, part, by);
    input.current?.focus();
    jump.current = next.caret;
    change(next);
  };
  const take = ({ text: by }: Offer): void => put(token, by);
  const fix = (problem: Problem, by: string): void => {
    put(problem, by);
    open(false);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    const found = search(text);
    setProblems(found);
    open(false);
    if (found.length === 0) type({ text: '', caret: 0 });
  };
  const leave = (): void => (isShown ? open(false) : focusScreen());
  const chosen = isShown ? offers[active] : undefined;
  const step = (by: number): void => {
    open(true);
    // From no completion, upwards leads to the last one.
    activate(active < 0 && by < 0 ? offers.length - 1 : (active + by + offers.length) % offers.length);
  };
  /** Keys of the completions, which then do nothing else. */
  const keys: Readonly<Record<string, () => void>> = {
    ...(offers.length > 0 && { ArrowDown: () => step(1), ArrowUp: () => step(-1) }),
    ...(chosen !== undefined && { Enter: () => take(chosen), Tab: () => take(chosen) }),
    Escape: leave,
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Backspace' && text === '') removeLast();
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]?.();
  };
  const typed = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void =>
    change({ text: currentTarget.value, caret: currentTarget.selectionStart ?? currentTarget.value.length });

  return (
    <div class="tokens">
      <form class="field" onSubmit={submit}>
        <Icon name="search" />
        {children}
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label={label}
          aria-autocomplete="list"
          aria-expanded={isShown}
          {...attributesOf({ id, isShown, active: chosen === undefined ? null : active })}
          aria-invalid={problems.length > 0}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          maxLength={CHARACTERS_MAX}
          value={text}
          onInput={typed}
          onFocus={() => open(true)}
          onBlur={() => open(false)}
          onKeyDown={pressed}
        />
        <kbd class="hide-s">/</kbd>
      </form>
      {isShown && <Offers id={id} offers={offers} active={active} take={take} />}
      {problems.length > 0 && <Problems problems={problems} fix={fix} />}
    </div>
  );
};
