import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { session } from '../data/credentials.ts';
import { currentEnvironment, linkTo, usePlace } from '../data/location.ts';
import { createStore, useStore } from '../data/store.ts';
import { Icon } from './icons.tsx';

/**
 * Views of a screen under names of the member's own: filters, period and grouping, which are all in the URL. Stored in
 * this browser for each member. The link of a view works for every member of the organization.
 */

interface SavedView {
  readonly name: string;
  /** Path below `/dashboard`. */
  readonly path: string;
  readonly query: string;
}

/** Views of a member in one browser. Higher: the menu needs a search. Lower: members who watch many keys run out. */
const VIEWS_MAX = 50;
const NAME_CHARACTERS_MAX = 60;
/** A filter has at most 998 characters. Longer queries come from no screen. */
const QUERY_CHARACTERS_MAX = 4_000;
/** Parameters that belong to the moment, not to the view. `environment` follows the screen. */
const PASSING = ['peek', 'environment', 'at'];

const storageKey = (memberId: string): string => `outbox-views-${memberId}`;

const isView = (value: unknown): value is SavedView =>
  typeof value === 'object' &&
  value !== null &&
  (['name', 'path', 'query'] as const).every((field) => typeof (value as Partial<SavedView>)[field] === 'string');

const read = (memberId: string): readonly SavedView[] => {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(storageKey(memberId)) ?? '[]');
    return Array.isArray(found) ? found.filter(isView).slice(0, VIEWS_MAX) : [];
  } catch {
    return [];
  }
};

/** Changes when views are saved or deleted. */
const changes = createStore(0);

const write = (memberId: string, views: readonly SavedView[]): void => {
  localStorage.setItem(storageKey(memberId), JSON.stringify(views.slice(0, VIEWS_MAX)));
  changes.set(changes.get() + 1);
};

const queryOf = (query: URLSearchParams): string => {
  const kept = new URLSearchParams(query);
  for (const name of PASSING) kept.delete(name);
  return kept.toString().slice(0, QUERY_CHARACTERS_MAX);
};

/** A link to the view, in the current environment. */
const hrefOf = ({ path, query }: SavedView): string => {
  const whole = new URLSearchParams(query);
  if (currentEnvironment() === 'test') whole.set('environment', 'test');
  return `${linkTo(path).split('?')[0]}?${whole}`;
};

/** Saves the view of this screen and opens saved ones. */
export const SavedViews = (): JSX.Element => {
  const panel = useRef<HTMLDetailsElement>(null);
  const { path, query } = usePlace();
  const memberId = useStore(session)?.member?.id ?? 'key';
  useStore(changes);
  const all = read(memberId);
  const views = all.filter((view) => view.path === path);
  const current = queryOf(query);
  const close = (): void => {
    if (panel.current !== null) panel.current.open = false;
  };
  const save = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name')).trim();
    if (name === '') return;
    const others = all.filter((view) => view.path !== path || view.name !== name);
    write(memberId, [{ name, path, query: current }, ...others]);
    event.currentTarget.reset();
    close();
  };
  return (
    <details class="drop" ref={panel}>
      <summary class="btn">
        <Icon name="layers" />
        Views
      </summary>
      <form class="surface views" onSubmit={save}>
        {views.length === 0 && <p class="two">Save these filters under a name to come back to them.</p>}
        <ul aria-label="Saved views">
          {views.map((view) => (
            <li key={view.name}>
              <a
                class="lnk"
                href={hrefOf(view)}
                onClick={close}
                {...(view.query === current && { 'aria-current': 'true' })}
              >
                <bdi>{view.name}</bdi>
              </a>
              <button
                type="button"
                class="btn ghost small square"
                aria-label={`Delete the view ${view.name}`}
                onClick={() =>
                  write(
                    memberId,
                    all.filter((one) => one !== view),
                  )
                }
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
        <input
          class="inp"
          name="name"
          aria-label="Name of the view"
          required
          maxLength={NAME_CHARACTERS_MAX}
          placeholder="bounces of the shop"
          autocomplete="off"
        />
        <button type="submit" class="btn primary" disabled={all.length >= VIEWS_MAX}>
          Save this view
        </button>
        <p class="muted small">Views are stored in this browser. To share one, copy its link.</p>
      </form>
    </details>
  );
};
