import type { JSX } from 'preact';
import { ICONS, type IconName, MARKS, STATES, type State } from './shapes.ts';

/** A decorative icon. The text next to it says the same. */
export const Icon = ({ name }: { readonly name: IconName }): JSX.Element => (
  <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
    <path d={ICONS[name]} />
  </svg>
);

/** Initials of the first and last name; empty if the name has none. */
const initialsOf = (name: string): string => {
  const letters = name.split(/\s+/).flatMap((word) => /\p{L}/u.exec(word)?.[0] ?? []);
  return [letters[0], letters.length > 1 ? letters.at(-1) : undefined].join('').toUpperCase();
};

interface AvatarProps {
  /** The person's name. */
  readonly name: string | null;
  /** Shown if there is no name. */
  readonly icon: IconName;
  readonly title?: string;
}

/** A decorative avatar. The text next to it names the person. */
export const Avatar = ({ name, icon, title }: AvatarProps): JSX.Element => {
  const initials = initialsOf(name ?? '');
  return (
    <span class={`ava ${initials === '' ? 'k' : ''}`} title={title}>
      {initials === '' ? <Icon name={icon} /> : <span aria-hidden="true">{initials}</span>}
    </span>
  );
};

/** The shape of a state in its colour. */
export const Mark = ({ state }: { readonly state: State }): JSX.Element => {
  const { tone, mark } = STATES[state];
  return (
    <svg class={`m ${tone}`} viewBox="0 0 14 14" aria-hidden="true">
      {MARKS[mark].map(([className, d]) => (
        <path key={d} class={className} d={d} />
      ))}
    </svg>
  );
};

/** A state as shape, colour and word. @param word replaces the state's own word. */
export const Status = ({ state, word }: { readonly state: State; readonly word?: string }): JSX.Element => (
  <span class={`status ${STATES[state].tone}`}>
    <Mark state={state} />
    {word ?? STATES[state].word}
  </span>
);

export const Pill = ({ state, word }: { readonly state: State; readonly word?: string }): JSX.Element => (
  <span class={`pill ${STATES[state].tone}`}>
    <Mark state={state} />
    {word ?? STATES[state].word}
  </span>
);
