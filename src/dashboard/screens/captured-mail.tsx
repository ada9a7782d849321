import type { JSX } from 'preact';
import type { SerializedCapturedMail } from '../../http/schemas/captured-mail.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { removeResource, useRead, useResource } from '../data/queries.ts';
import { type RawMessage, readRaw } from '../data/raw-message.ts';
import { count, useTimes } from '../data/time.ts';
import { Action } from '../parts/action.tsx';
import { ApiButton } from '../parts/api-button.tsx';
import { Crumb } from '../parts/crumb.tsx';
import { Download } from '../parts/download.tsx';
import { CopyField, Fact, Facts } from '../parts/facts.tsx';
import { Fault, ScreenFault, Skeleton } from '../parts/states.tsx';

type Mail = SerializedCapturedMail;

const TABS = { text: 'Text', html: 'HTML', headers: 'Headers', raw: 'Source' } as const;
type Tab = keyof typeof TABS;

const tabOf = (query: URLSearchParams): Tab => {
  const asked = query.get('tab') ?? '';
  return Object.hasOwn(TABS, asked) ? (asked as Tab) : 'text';
};

const Headers = ({ mail }: { readonly mail: Mail }): JSX.Element => (
  <div class="card source whole">
    <Facts>
      {mail.headers.map(({ name, value }, index) => (
        <Fact key={`${name} ${index}`} name={name}>
          <bdi class="mono">{value}</bdi>
        </Fact>
      ))}
    </Facts>
  </div>
);

const MISSING = { text: 'It has no text.', html: 'It has no HTML.' } as const;

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
    {!isWhole && <p class="muted">This is the beginning. The file has all of it.</p>}
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
  if (tab === 'headers') return <Headers mail={mail} />;
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
    <li class="okrow">
      <bdi class="ell">{name}</bdi>
      <span class="sp" />
      <span class="muted small">
        {file.content_type}, {count(file.size_bytes)} bytes
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
    <Action word="Delete" icon="trash" tone="danger" title="Delete this mail?" act={remove}>
      <p class="two">The captured copy is deleted. The message it belongs to stays.</p>
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
          <bdi>{mail.envelope.from === '' ? 'nobody' : mail.envelope.from}</bdi>
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
              What became of it
            </a>
          </Fact>
        )}
        <Fact name="Size">{count(mail.size_bytes)} bytes</Fact>
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
  if (mail === undefined) return <Skeleton />;
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
