import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SerializedCapturedMail, SerializedListedCapturedMail } from '../../http/resources/inbox.ts';
import { Action } from '../components/action.tsx';
import { CopyField, Fact, Facts } from '../components/facts.tsx';
import { Icon } from '../components/icons.tsx';
import { ApiButton, Crumb, Download, Listed } from '../components/screen.tsx';
import { Empty, Fault, ScreenFault, ScreenSkeleton, Skeleton } from '../components/states.tsx';
import { ApiFault, request, urlOf } from '../data/api.ts';
import { onEvents } from '../data/live.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { client, removeResource, useList, useRead, useResource } from '../data/queries.ts';
import { count, size, useTimes } from '../data/time.ts';
import { HeaderCard, type RawMessage, readRaw } from '../messages/content.tsx';

type Mail = SerializedCapturedMail;

const TABS = { text: 'Text', html: 'HTML', headers: 'Headers', raw: 'Source' } as const;
type Tab = keyof typeof TABS;

const tabOf = (query: URLSearchParams): Tab => {
  const asked = query.get('tab') ?? '';
  return Object.hasOwn(TABS, asked) ? (asked as Tab) : 'text';
};

const MISSING = { text: 'This mail has no text.', html: 'This mail has no HTML.' } as const;

const sourcePath = (id: string): string => `/v1/inbox/${id}/raw`;

const Text = ({
  text,
  isWhole,
  id,
}: {
  readonly text: string;
  readonly isWhole: boolean;
  readonly id: string;
}): JSX.Element => (
  <div class="card source whole">
    <pre>
      <bdi>{text}</bdi>
    </pre>
    {!isWhole && <p class="muted">Only the beginning is shown. Download the file to see the rest.</p>}
    <Download word="Download .eml" path={sourcePath(id)} accept="message/rfc822" name={`${id}.eml`} tone="small" />
  </div>
);

const Source = ({ id }: { readonly id: string }): JSX.Element => {
  const path = sourcePath(id);
  const { data, error } = useRead<RawMessage>([path], (signal) => readRaw(path, signal));
  if (error !== null) return <Fault error={error} />;
  return data === undefined ? <Skeleton rows={4} /> : <Text {...data} id={id} />;
};

const Content = ({ mail, tab }: { readonly mail: Mail; readonly tab: Tab }): JSX.Element => {
  if (tab === 'headers') return <HeaderCard headers={mail.headers} />;
  if (tab === 'raw') return <Source id={mail.id} />;
  return <Text text={mail[tab] ?? MISSING[tab]} isWhole={!mail.truncated} id={mail.id} />;
};

interface AttachmentProps {
  readonly path: string;
  readonly file: Mail['attachments'][number];
}

/** Saved as plain bytes: a browser might run the type that the mail claims. */
const Attachment = ({ path, file }: AttachmentProps): JSX.Element => {
  const name = file.filename ?? 'attachment';
  return (
    <li class="okrow flex line">
      <bdi class="ell">{name}</bdi>
      <span class="sp" />
      <span class="muted small">
        {file.content_type}, {size(file.size_bytes)}
      </span>
      <Download word="Save" path={path} accept="application/octet-stream" name={name} tone="small" />
    </li>
  );
};

const DeleteMail = ({ id }: { readonly id: string }): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await removeResource(`/v1/inbox/${id}`);
    navigate(linkTo('/inbox'), 'replace');
  };
  return (
    <Action
      word="Delete"
      operation="DELETE /v1/inbox/:id"
      icon="trash"
      tone="danger"
      title="Delete this mail?"
      act={remove}
    >
      <p class="two">The captured copy is deleted. The message itself is kept.</p>
    </Action>
  );
};

const messageIdOf = ({ headers }: Mail): string | null =>
  headers.find(({ name }) => name.toLowerCase() === 'message-id')?.value ?? null;

const Rail = ({ mail }: { readonly mail: Mail }): JSX.Element => {
  const messageId = messageIdOf(mail);
  return (
    <aside aria-label="Facts">
      <Facts>
        <Fact name="Envelope sender">
          <bdi>{mail.envelope.from === '' ? 'null sender' : mail.envelope.from}</bdi>
        </Fact>
        <Fact name="Envelope recipients">
          {mail.envelope.to.map((address) => (
            <bdi class="meta" key={address}>
              {address}
            </bdi>
          ))}
        </Fact>
        {messageId !== null && (
          <Fact name="Message-ID">
            <CopyField text={messageId} name="Message-ID" />
          </Fact>
        )}
        {messageId !== null && (
          <Fact name="Message">
            <a class="lnk" href={linkTo('/messages', { message_id: messageId, period: 'all' })}>
              View message
            </a>
          </Fact>
        )}
        <Fact name="Size">{size(mail.size_bytes)}</Fact>
      </Facts>
    </aside>
  );
};

/** A captured mail: its rendering and its source. */
export const CapturedMail = ({ id }: { readonly id: string }): JSX.Element => {
  const times = useTimes();
  const tab = tabOf(usePlace().query);
  const { data: mail, error } = useResource<Mail>({ path: `/v1/inbox/${id}` });
  if (error !== null) return <ScreenFault title="Captured mail" error={error} />;
  if (mail === undefined) return <ScreenSkeleton title="Captured mail" />;
  return (
    <>
      <Crumb path="/inbox" word="Inbox" id={id} />
      <div class="head">
        <div>
          <h1>
            <bdi>{mail.subject ?? '(no subject)'}</bdi>
          </h1>
          <p class="sub">
            Captured <time dateTime={mail.received_at}>{times.full(mail.received_at)}</time>
          </p>
        </div>
        <div class="acts">
          <ApiButton requests={[`/v1/inbox/${id}`]} />
          <DeleteMail id={id} />
        </div>
      </div>
      <div class="cols">
        <div>
          <nav class="tabs" aria-label="Views">
            {Object.entries(TABS).map(([name, word]) => (
              <a
                key={name}
                href={withParameters({ tab: name === 'text' ? null : name })}
                {...(name === tab && { 'aria-current': 'page' })}
              >
                {word}
              </a>
            ))}
          </nav>
          <Content mail={mail} tab={tab} />
          {mail.attachments.length > 0 && (
            <section class="card aside">
              <header>
                <h2>Attachments</h2>
              </header>
              <ul>
                {mail.attachments.map((file, index) => (
                  <Attachment
                    key={`${file.filename} ${index}`}
                    path={`/v1/inbox/${id}/attachments/${index}`}
                    file={file}
                  />
                ))}
              </ul>
            </section>
          )}
        </div>
        <Rail mail={mail} />
      </div>
    </>
  );
};

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
          from <bdi>{mail.envelope.from === '' ? 'the null sender (a report)' : mail.envelope.from}</bdi>
          {mail.attachments.length > 0 && `, ${count(mail.attachments.length)} attached`}
          {mail.confidential && ', owners only'}
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
        title="No matching mail"
        actions={
          <a class="btn" href={withParameters({ to: null, subject: null })}>
            All mail
          </a>
        }
      >
        Recipients must match exactly. Subjects can match in part.
      </Empty>
    );
  }
  return (
    <Empty icon="mail" title="No mail yet">
      Captured mail appears here instead of being sent, as each recipient would get it. Mail from test keys is always
      captured.
    </Empty>
  );
};

/** Mail that was captured instead of sent. */
export const Inbox = (): JSX.Element => {
  const { query } = usePlace();
  const asked = { to: query.get('to'), subject: query.get('subject') };
  const isEverything = asked.to === null && asked.subject === null;
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
          <Action
            word="Delete listed mail"
            operation="DELETE /v1/inbox"
            icon="trash"
            tone="danger"
            title={isEverything ? 'Delete all captured mail?' : 'Delete all matching mail?'}
            typed="delete mail"
            act={clear}
          >
            <p class="two">
              {isEverything ? 'All captured mail' : 'All matching captured mail'} in this environment is deleted. The
              messages themselves are kept.
            </p>
          </Action>
        </div>
      </div>
      {isAbsent ? (
        <Empty icon="mail" title="Mail is not captured here">
          Mail is sent to its recipients, as set in <code>MAIL_URL</code>. Set <code>MAIL_URL=capture:</code> to capture
          it here instead.
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
