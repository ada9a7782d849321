import type { JSX } from 'preact';
import type { SerializedMessageContent } from '../../http/schemas/message-content.ts';
import { ApiFault } from '../data/api.ts';
import { saveFile } from '../data/download.ts';
import { useRead, useResource } from '../data/queries.ts';
import { headersIn, type RawMessage, rawPath, readRaw } from '../data/raw-message.ts';
import { count } from '../data/time.ts';
import { Download } from './download.tsx';
import { Fact, Facts } from './facts.tsx';
import { Icon } from './icons.tsx';
import { Empty, Fault, Notice, Skeleton } from './states.tsx';

/** The content of a message. Reading it is recorded in the audit log, so it loads only on request. */

const Gone = ({ error }: { readonly error: Error }): JSX.Element =>
  error instanceof ApiFault && error.code === 'content_gone' ? (
    <Notice tone="plan" state="scheduled">
      <b>The content is no longer stored.</b> {error.message}. Its history stays.
    </Notice>
  ) : (
    <Fault error={error} />
  );

interface Read<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
}

/** Shows the data, or the reason why it could not be loaded. */
const shown = <T,>({ data, error }: Read<T>, show: (data: T) => JSX.Element): JSX.Element => {
  if (error !== null) return <Gone error={error} />;
  return data === undefined ? <Skeleton rows={4} /> : show(data);
};

interface OfMessage {
  readonly id: string;
}

export const useContent = (id: string): Read<SerializedMessageContent> =>
  useResource<SerializedMessageContent>({ path: `/v1/messages/${id}/content` });

const useRaw = (id: string): Read<RawMessage> =>
  useRead<RawMessage>([rawPath(id)], (signal) => readRaw(rawPath(id), signal));

const Source = ({ text }: { readonly text: string }): JSX.Element => (
  <pre>
    <bdi>{text}</bdi>
  </pre>
);

/** The text as sent, and the HTML as it was submitted. */
export const MessageText = ({ id }: OfMessage): JSX.Element =>
  shown(useContent(id), ({ text, html }) => (
    <div class="card source">
      {text !== null && <Source text={text} />}
      {html !== null && (
        <>
          <p class="muted">HTML source</p>
          <Source text={html} />
        </>
      )}
    </div>
  ));

export const MessageHeaders = ({ id }: OfMessage): JSX.Element =>
  shown(useRaw(id), ({ text }) => (
    <div class="card source">
      <Facts>
        {headersIn(text).map(({ name, value }, index) => (
          <Fact key={`${name} ${index}`} name={name}>
            <bdi class="mono">{value}</bdi>
          </Fact>
        ))}
      </Facts>
      <p class="muted aside">Each copy is signed as it leaves, and may get links of its own to unsubscribe.</p>
    </div>
  ));

export const DownloadSource = ({ id }: OfMessage): JSX.Element => (
  <Download word="Download .eml" path={rawPath(id)} accept="message/rfc822" name={`${id}.eml`} tone="small" />
);

export const MessageRaw = ({ id }: OfMessage): JSX.Element =>
  shown(useRaw(id), ({ text, isWhole }) => (
    <div class="card source">
      <pre>
        <bdi>{text}</bdi>
      </pre>
      {!isWhole && <p class="muted">This is its beginning. The file has the rest.</p>}
      <DownloadSource id={id} />
    </div>
  ));

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
        It was sent without files.
      </Empty>
    ) : (
      <ul class="card files">
        {attachments.map((attachment, index) => (
          <li key={`${attachment.filename} ${index}`}>
            <span>
              <bdi class="b">{attachment.filename}</bdi>
              <small class="muted">
                <bdi>{attachment.content_type}</bdi>, {count(bytesOf(attachment).length)} bytes
                {attachment.content_id !== null && ', shown in the mail'}
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
