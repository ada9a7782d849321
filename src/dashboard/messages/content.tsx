import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedMessageContent } from '../../http/resources/messages/message.ts';
import { CopyButton, Fact, Facts } from '../components/facts.tsx';
import { Icon } from '../components/icons.tsx';
import { LooksChoice, MailFrame, useLooks } from '../components/mail-frame.tsx';
import { Download, saveFile } from '../components/screen.tsx';
import { Empty, Fault, Notice, Skeleton } from '../components/states.tsx';
import { ApiFault, send, urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { environmentOf, usePlace } from '../data/location.ts';
import { useRead, useResource } from '../data/queries.ts';
import { useStore } from '../data/store.ts';
import { size } from '../data/time.ts';

/** The readable part of a message's source. */

/** Shows only the beginning of a longer source: the rest is attachments. */
const SHOWN_CHARACTERS = 200_000;

export interface RawMessage {
  readonly text: string;
  readonly isWhole: boolean;
}

const rawPath = (id: string): string => `/v1/messages/${id}/raw`;

/** @throws {ApiFault} */
export const readRaw = async (path: string, signal: AbortSignal): Promise<RawMessage> => {
  const { body } = await send(path, { signal });
  if (body === null) return { text: '', isWhole: true };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += read.value;
    if (text.length <= SHOWN_CHARACTERS) continue;
    await reader.cancel();
    return { text: text.slice(0, SHOWN_CHARACTERS), isWhole: false };
  }
  return { text, isWhole: true };
};

interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/** Header fields, unfolded (RFC 5322 §2.2.3). */
const headersIn = (raw: string): readonly HeaderField[] => {
  const [head = ''] = raw.split('\r\n\r\n', 1);
  return head
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .map((line) => ({ name: line.slice(0, line.indexOf(':')), value: line.slice(line.indexOf(':') + 1).trim() }));
};

/** The content of a message. Reading it is recorded in the audit log, so it loads only on request. */

const Gone = ({ error }: { readonly error: Error }): JSX.Element =>
  error instanceof ApiFault && error.code === 'content_gone' ? (
    <Notice tone="plan" state="scheduled">
      <b>The content is no longer stored.</b> {error.message}. Its history is kept.
    </Notice>
  ) : (
    <Fault error={error} />
  );

interface ReadResult<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
}

/** Shows the data, or the reason why it could not be loaded. */
const shown = <T,>({ data, error }: ReadResult<T>, show: (data: T) => JSX.Element): JSX.Element => {
  if (error !== null) return <Gone error={error} />;
  return data === undefined ? <Skeleton rows={4} /> : show(data);
};

interface OfMessage {
  readonly id: string;
}

const useContent = (id: string): ReadResult<SerializedMessageContent> =>
  useResource<SerializedMessageContent>({ path: `/v1/messages/${id}/content` });

const useRaw = (path: string): ReadResult<RawMessage> => useRead<RawMessage>([path], (signal) => readRaw(path, signal));

const Source = ({ text }: { readonly text: string }): JSX.Element => (
  <pre>
    <bdi>{text}</bdi>
  </pre>
);

/** The text as sent, and the HTML as it was submitted. */
export const MessageText = ({ id }: OfMessage): JSX.Element =>
  shown(useContent(id), ({ text, html }) => (
    <div class="card source whole">
      {text !== null && <Source text={text} />}
      {html !== null && (
        <>
          <p class="muted">HTML source</p>
          <Source text={html} />
        </>
      )}
    </div>
  ));

interface HeaderCardProps {
  readonly headers: readonly HeaderField[];
  /** A note below the fields. */
  readonly children?: ComponentChildren;
}

export const HeaderCard = ({ headers, children }: HeaderCardProps): JSX.Element => (
  <div class="card source whole">
    <Facts>
      {headers.map(({ name, value }, index) => (
        <Fact key={`${name} ${index}`} name={name}>
          <bdi class="mono">{value}</bdi>
        </Fact>
      ))}
    </Facts>
    {children}
  </div>
);

export const MessageHeaders = ({ id }: OfMessage): JSX.Element =>
  shown(useRaw(rawPath(id)), ({ text }) => (
    <HeaderCard headers={headersIn(text)}>
      <p class="muted aside">Each copy is signed when it is sent, and may get its own unsubscribe links.</p>
    </HeaderCard>
  ));

interface OfSource extends OfMessage {
  /** Path of the source. */
  readonly path: string;
}

export const DownloadSource = ({ id, path }: OfSource): JSX.Element => (
  <Download word="Download .eml" path={path} accept="message/rfc822" name={`${id}.eml`} tone="small" />
);

/** The source of a sent or received message. */
export const RawSource = ({ id, path }: OfSource): JSX.Element =>
  shown(useRaw(path), ({ text, isWhole }) => (
    <div class="card source">
      <Source text={text} />
      {!isWhole && <p class="muted">Only the beginning is shown. Download the file to see the rest.</p>}
      <DownloadSource id={id} path={path} />
    </div>
  ));

export const MessageRaw = ({ id }: OfMessage): JSX.Element => <RawSource id={id} path={rawPath(id)} />;

type Attachment = SerializedMessageContent['attachments'][number];

const bytesOf = ({ content }: Attachment): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(content.replaceAll(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/')), (one) =>
    one.charCodeAt(0),
  );

/** Saves the attachment as plain bytes, so that the browser never opens it as the type it claims. */
const save = (attachment: Attachment): void =>
  saveFile(attachment.filename, new Blob([bytesOf(attachment)], { type: 'application/octet-stream' }));

export const MessageAttachments = ({ id }: OfMessage): JSX.Element =>
  shown(useContent(id), ({ attachments }) =>
    attachments.length === 0 ? (
      <Empty icon="copy" title="No attachments">
        This message was sent without files.
      </Empty>
    ) : (
      <ul class="card files">
        {attachments.map((attachment, index) => (
          <li key={`${attachment.filename} ${index}`}>
            <span>
              <bdi class="b">{attachment.filename}</bdi>
              <small class="muted">
                <bdi>{attachment.content_type}</bdi>, {size(bytesOf(attachment).length)}
                {attachment.content_id !== null && ', inline'}
              </small>
            </span>
            <button type="button" class="btn small" onClick={() => save(attachment)}>
              <Icon name="save" />
              Download
            </button>
          </li>
        ))}
      </ul>
    ),
  );

/**
 * Displays a mail in a document with its own content security policy (`GET /v1/messages/{id}/preview`). The browser
 * requests it, which sends a member's session but cannot send a tab's API key.
 */

const CopyHtml = ({ id }: { readonly id: string }): JSX.Element | null => {
  const html = useContent(id).data?.html ?? null;
  return html === null ? null : <CopyButton text={html} label="Copy the HTML" />;
};

interface PreviewProps {
  /** Path of the document. */
  readonly path: string;
  /** Said while remote images are loaded. */
  readonly loaded: string;
  /** Said while they are not. */
  readonly blocked: string;
  /** Buttons next to the choice of looks. */
  readonly children: ComponentChildren;
}

const Frame = ({ path, loaded, blocked, children }: PreviewProps): JSX.Element => {
  const looks = useLooks();
  const [hasImages, loadImages] = useState(false);
  const environment = environmentOf(usePlace());
  const source = urlOf(path, {
    images: hasImages ? 'remote' : null,
    environment: environment === 'test' ? environment : null,
  });
  return (
    <div class="pv frame">
      <div class="pvbar flex line wrap">
        <LooksChoice looks={looks} />
        <span class="sp" />
        {children}
      </div>
      <div class="shield flex line">
        <Icon name="shield" />
        {hasImages ? (
          <span>Sandboxed: no scripts or forms. Remote images are loaded. {loaded}</span>
        ) : (
          <>
            <span>Sandboxed: no scripts, forms or network. Remote images are not loaded, {blocked}.</span>
            <button type="button" class="lnk" onClick={() => loadImages(true)}>
              Load images
            </button>
          </>
        )}
      </div>
      <div class="stage">
        <MailFrame source={source} looks={looks} title="The mail" />
      </div>
    </div>
  );
};

/** @param text shown to keys, which cannot load the document. */
export const MailPreview = ({ text, ...frame }: PreviewProps & { readonly text: JSX.Element }): JSX.Element => {
  if (useStore(session)) return <Frame {...frame} />;
  const [, kind = ''] = /^\/v1\/(\w+)\//.exec(frame.path) ?? [];
  return (
    <div class="stack aside">
      <Notice tone="mute" state="accepted">
        <b>Sign in as a member to see the preview.</b> It is an isolated document, which cannot use the API key of this
        tab.{' '}
        <code>
          GET /v1/{kind}/{'{id}'}/preview
        </code>{' '}
        returns it to any program with a key. This is its text:
      </Notice>
      {text}
    </div>
  );
};

export const MessagePreview = ({ id }: OfMessage): JSX.Element => (
  <MailPreview
    path={`/v1/messages/${id}/preview`}
    loaded="The tracking image does not count an open."
    blocked="so a preview is not recorded as an open"
    text={<MessageText id={id} />}
  >
    <span class="cp">
      <CopyHtml id={id} />
    </span>
    <DownloadSource id={id} path={rawPath(id)} />
  </MailPreview>
);
