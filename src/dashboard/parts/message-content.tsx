import type { JSX } from 'preact';
import type { SerializedMessageContent } from '../../http/schemas/message-content.ts';
import { ApiFault } from '../data/api.ts';
import { useResource } from '../data/queries.ts';
import { Fact, Facts } from './facts.tsx';
import { Fault, Notice, Skeleton } from './states.tsx';

/** What a message says. Reading it is put on record, so it is read only when it is asked for. */

const Gone = ({ error }: { readonly error: Error }): JSX.Element =>
  error instanceof ApiFault && error.code === 'content_gone' ? (
    <Notice tone="plan" state="scheduled">
      <b>The content is no longer stored.</b> {error.message}. Its history stays.
    </Notice>
  ) : (
    <Fault error={error} />
  );

interface ContentProps {
  readonly id: string;
  readonly tab: 'text' | 'html' | 'headers';
}

export const MessageContent = ({ id, tab }: ContentProps): JSX.Element => {
  const { data, error } = useResource<SerializedMessageContent>({ path: `/v1/messages/${id}/content` });
  if (error !== null) return <Gone error={error} />;
  if (data === undefined) return <Skeleton rows={4} />;
  if (tab === 'headers') {
    return (
      <div class="card source">
        <Facts>
          <Fact name="From">
            <bdi>{data.from_name === null ? data.from : `${data.from_name} <${data.from}>`}</bdi>
          </Fact>
          {Object.entries(data.headers).map(([name, value]) => (
            <Fact key={name} name={name}>
              <bdi>{value}</bdi>
            </Fact>
          ))}
        </Facts>
      </div>
    );
  }
  const text = tab === 'text' ? data.text : data.html;
  const missing = tab === 'text' ? 'It was sent without a text of its own.' : 'It was sent without HTML.';
  return (
    <div class="card source">
      <pre>
        <bdi>{text ?? missing}</bdi>
      </pre>
    </div>
  );
};
