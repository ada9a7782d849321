import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedView } from '../../http/resources/members/views.ts';
import { useMay } from '../data/access.ts';
import { ApiFault, request } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { currentEnvironment, linkTo, usePlace } from '../data/location.ts';
import { client, useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { Icon } from './icons.tsx';
import { Fault } from './states.tsx';

/**
 * Views of a screen under names of the member's own: filters, period and grouping, which are all in the URL. The service
 * stores them for each member. The link of a view works for every member of the organization.
 */

/**
 * Views that an earlier version of the dashboard stored in the browser, under the id of the member. They are saved with
 * the member once, and then removed from the browser.
 */

/** Views of a member that the service accepts. Higher: all are refused together. Lower: some are lost. */
const VIEWS_MAX = 50;

const keyOf = (memberId: string): string => `outbox-views-${memberId}`;

const isView = (value: unknown): value is SerializedView =>
  typeof value === 'object' &&
  value !== null &&
  (['name', 'path', 'query'] as const).every((field) => typeof (value as Partial<SerializedView>)[field] === 'string');

const read = (stored: string): readonly SerializedView[] => {
  try {
    const found: unknown = JSON.parse(stored);
    return Array.isArray(found) ? found.filter(isView).map(({ name, path, query }) => ({ name, path, query })) : [];
  } catch {
    return [];
  }
};

type Views = readonly SerializedView[];

/** The stored views and the others, without two of one name. A view that is stored already stays as it is. */
const merged = (stored: Views, others: Views): Views => {
  const distinct = new Map([...others, ...stored].map((view) => [`${view.path}\0${view.name}`, view]));
  return [...new Set([...stored, ...distinct.values()])].slice(0, VIEWS_MAX);
};

type Change = (changed: (views: Views) => Views) => Promise<void>;

const isInvalid = (error: unknown): boolean => error instanceof ApiFault && error.code === 'invalid_request';

/** Saves these views. If the service refuses some of them, the others are saved one by one. */
const save = async (views: Views, change: Change): Promise<void> => {
  try {
    await change((stored) => merged(stored, views));
  } catch (error) {
    if (!isInvalid(error)) throw error;
    if (views.length > 1) for (const view of views) await save([view], change);
  }
};

/** Moves the views of this browser to the member. They stay in the browser until they are saved. @throws {ApiFault} */
const moveViewsOfBrowser = async (memberId: string, change: Change): Promise<void> => {
  const stored = localStorage.getItem(keyOf(memberId));
  if (stored === null) return;
  const views = read(stored);
  if (views.length > 0) await save(views, change);
  localStorage.removeItem(keyOf(memberId));
};

const PATH = '/v1/session/views';
const NAME_CHARACTERS_MAX = 60;
/** Parameters that belong to the moment, not to the view. `environment` follows the screen. */
const PASSING = ['peek', 'environment', 'at'];

const isSame = (one: SerializedView, other: SerializedView): boolean =>
  one.path === other.path && one.name === other.name;

/** Changes the views as they are now: another tab may have saved one since they were read. @throws {ApiFault} */
const change = async (changed: (views: Views) => Views): Promise<void> => {
  const { data } = await request<List<SerializedView>>(PATH);
  await request(PATH, { method: 'PUT', body: { views: changed(data) } });
  await client.invalidateQueries({ queryKey: [PATH] });
};

const queryOf = (query: URLSearchParams): string => {
  const kept = new URLSearchParams(query);
  for (const name of PASSING) kept.delete(name);
  return kept.toString();
};

/** A link to the view, in the current environment. */
const hrefOf = ({ path, query }: SerializedView): string => {
  const whole = new URLSearchParams(query);
  if (currentEnvironment() === 'test') whole.set('environment', 'test');
  return `${linkTo(path).split('?')[0]}?${whole}`;
};

/** Saves the view of this screen and opens saved ones. Only members have views of their own. */
export const SavedViews = (): JSX.Element | null => {
  const panel = useRef<HTMLDetailsElement>(null);
  const { path, query } = usePlace();
  const isMember = useMay('PUT /v1/session/views');
  const stored = useResource<List<SerializedView>>({ path: PATH, enabled: isMember });
  const [problem, setProblem] = useState<Error | null>(null);
  const memberId = useStore(session)?.member?.id;
  useEffect(() => {
    // A failure leaves them in the browser for the next time.
    if (isMember && memberId !== undefined) void moveViewsOfBrowser(memberId, change).catch(() => undefined);
  }, [isMember, memberId]);
  if (!isMember) return null;
  const views = (stored.data?.data ?? []).filter((view) => view.path === path);
  const current = queryOf(query);
  const close = (): void => {
    if (panel.current !== null) panel.current.open = false;
  };
  const apply = async (changed: (views: Views) => Views): Promise<boolean> => {
    const failed = await change(changed).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    setProblem(failed);
    return failed === null;
  };
  const save = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const view = { name: String(new FormData(form).get('name')).trim(), path, query: current };
    if (view.name === '') return;
    if (!(await apply((all) => [view, ...all.filter((one) => !isSame(one, view))]))) return;
    form.reset();
    close();
  };
  return (
    <details class="drop" ref={panel}>
      <summary class="btn">
        <Icon name="layers" />
        Views
      </summary>
      <form class="surface views" onSubmit={(event) => void save(event)}>
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
                onClick={() => void apply((all) => all.filter((one) => !isSame(one, view)))}
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
        <button type="submit" class="btn primary">
          Save this view
        </button>
        {problem !== null && <Fault error={problem} />}
        <p class="muted small">Only you see your views. To share one, copy its link.</p>
      </form>
    </details>
  );
};
