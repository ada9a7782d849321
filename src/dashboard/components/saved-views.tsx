import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedView } from '../../http/resources/members/views.ts';
import { useMay } from '../data/access.ts';
import { request } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { currentEnvironment, linkTo, usePlace } from '../data/location.ts';
import { reloadChanged, useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { Icon } from './icons.tsx';
import { Fault } from './states.tsx';
import { moveViewsOfBrowser } from './views-of-browser.ts';

/**
 * Views of a screen under names of the member's own: filters, period and grouping, which are all in the URL. The service
 * stores them for each member. The link of a view works for every member of the organization.
 */

const PATH = '/v1/session/views';
const NAME_CHARACTERS_MAX = 60;
/** Parameters that belong to the moment, not to the view. `environment` follows the screen. */
const PASSING = ['peek', 'environment', 'at'];

type Views = readonly SerializedView[];

const isSame = (one: SerializedView, other: SerializedView): boolean =>
  one.path === other.path && one.name === other.name;

/** Changes the views as they are now: another tab may have saved one since they were read. @throws {ApiFault} */
const change = async (changed: (views: Views) => Views): Promise<void> => {
  const { data } = await request<List<SerializedView>>(PATH);
  await request(PATH, { method: 'PUT', body: { views: changed(data) } });
  await reloadChanged({ queryKey: [PATH] });
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
