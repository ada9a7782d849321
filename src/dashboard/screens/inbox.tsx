import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SerializedListedCapturedMail } from '../../http/schemas/captured-mail.ts';
import { ApiFault, request, urlOf } from '../data/api.ts';
import { onEvents } from '../data/live.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { client, useList } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { Action } from '../parts/action.tsx';
import { ApiButton } from '../parts/api-button.tsx';
import { Icon } from '../parts/icons.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty } from '../parts/states.tsx';

const PATH = '/v1/inbox';
/** Higher: the first screen loads more slowly. Lower: people click for more rows. */
const PAGE = 20;
/** Debounce delay, because events arrive in bursts. */
const SETTLED_MS = 500;

/** Reloads the inbox when mail may have arrived. */
const useArrivals = (): void => {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onEvents(() => {
      clearTimeout(timer);
      timer = setTimeout(
        () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === PATH }),
        SETTLED_MS,
      );
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
};

const Row = ({ mail }: { readonly mail: SerializedListedCapturedMail }): JSX.Element => {
  const times = useTimes();
  const { to } = mail.envelope;
  return (
    <a class="kr" href={linkTo(`/inbox/${mail.id}`)}>
      <bdi class="ell">{to.length > 1 ? `${to[0]} +${to.length - 1}` : to[0]}</bdi>
      <span class="kn">
        <bdi class="ell b">{mail.subject ?? '(no subject)'}</bdi>
        <small class="muted ell">
          from <bdi>{mail.envelope.from === '' ? 'the null sender: a report' : mail.envelope.from}</bdi>
          {mail.attachments.length > 0 && `, ${count(mail.attachments.length)} attached`}
          {mail.confidential && ', for owners'}
        </small>
      </span>
      <time class="tm" dateTime={mail.received_at}>
        {times.clock(mail.received_at)}
      </time>
    </a>
  );
};

const FIELDS = { to: 'Exact recipient', subject: 'Part of the subject' } as const;

const Search = (): JSX.Element => {
  const { query } = usePlace();
  const search = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    navigate(withParameters({ to: String(form.get('to')).trim(), subject: String(form.get('subject')).trim() }));
  };
  return (
    <form class="bar" aria-label="Search" onSubmit={search}>
      {Object.entries(FIELDS).map(([name, word]) => (
        <span class="field" key={name}>
          <Icon name="search" />
          <input name={name} aria-label={word} placeholder={word} defaultValue={query.get(name) ?? ''} />
        </span>
      ))}
      <button type="submit" class="btn">
        Search
      </button>
    </form>
  );
};

const EmptyInbox = (): JSX.Element => {
  const { query } = usePlace();
  if (query.has('to') || query.has('subject')) {
    return (
      <Empty
        icon="search"
        title="No mail matches"
        actions={
          <a class="btn" href={withParameters({ to: null, subject: null })}>
            All mail
          </a>
        }
      >
        A recipient must match as a whole; a subject may be a part of it.
      </Empty>
    );
  }
  return (
    <Empty icon="mail" title="No mail yet">
      While mail is captured it comes here instead of leaving, as each recipient would get it. Mail of test keys is
      always captured.
    </Empty>
  );
};

/** Mail that was captured instead of sent. */
export const Inbox = (): JSX.Element => {
  const { query } = usePlace();
  const asked = { to: query.get('to'), subject: query.get('subject') };
  const list = useList<SerializedListedCapturedMail>({ path: PATH, query: { limit: PAGE, ...asked } });
  useArrivals();
  const isAbsent = list.error instanceof ApiFault && list.error.status === 404;
  const clear = async (): Promise<undefined> => {
    await request(PATH, { method: 'DELETE', query: asked });
  };
  return (
    <>
      <div class="head">
        <div>
          <h1>Inbox</h1>
          <p class="sub">Mail that was captured instead of being sent, as its recipients would get it</p>
        </div>
        <div class="acts">
          <ApiButton requests={[urlOf(PATH, { limit: PAGE, ...asked })]} />
          <Action word="Delete what is listed" icon="trash" tone="danger" title="Delete this mail?" act={clear}>
            <p class="two">
              {asked.to === null && asked.subject === null ? 'All captured mail' : 'All captured mail that matches'} of
              this environment is deleted. The messages it belongs to stay.
            </p>
          </Action>
        </div>
      </div>
      {isAbsent ? (
        <Empty icon="mail" title="Mail is not captured here">
          It leaves for its recipients: <code>MAIL_URL</code> says so. With <code>MAIL_URL=capture:</code> it comes
          here.
        </Empty>
      ) : (
        <>
          <Search />
          <Listed
            label="Captured mail"
            list={list}
            look="keys inbox"
            keyOf={({ id }) => id}
            render={(mail) => <Row mail={mail} />}
            empty={<EmptyInbox />}
          />
        </>
      )}
    </>
  );
};
