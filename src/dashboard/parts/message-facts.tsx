import type { JSX } from 'preact';
import type { SerializedMessage } from '../../http/schemas/message.ts';
import { linkTo } from '../data/location.ts';
import { isMemberId, shortId, useDomainNames, useSenderNames } from '../data/names.ts';
import { count, useTimes } from '../data/time.ts';
import { CopyField, Fact, Facts } from './facts.tsx';

/** Facts about a message apart from its history, each a link or copyable. */
export const MessageFacts = ({ message }: { readonly message: SerializedMessage }): JSX.Element => {
  const times = useTimes();
  const senders = useSenderNames();
  const domains = useDomainNames();
  const { template } = message;
  return (
    <aside aria-label="Facts">
      <Facts>
        <Fact name="Message-ID">
          <CopyField text={message.message_id} name="Message-ID" />
        </Fact>
        <Fact name={isMemberId(message.api_key_id) ? 'Sent by' : 'API key'}>
          <a class="lnk" href={linkTo('/messages', { key_id: message.api_key_id })}>
            <bdi>{senders.get(message.api_key_id) ?? shortId(message.api_key_id)}</bdi>
          </a>
        </Fact>
        <Fact name="Domain">
          <a class="lnk" href={linkTo('/messages', { domain_id: message.domain_id })}>
            {domains.get(message.domain_id) ?? shortId(message.domain_id)}
          </a>
        </Fact>
        {template !== null && (
          <Fact name="Template">
            <a class="lnk" href={linkTo('/messages', { template_id: template.id })}>
              {shortId(template.id)}
            </a>{' '}
            <span class="muted">version {template.version}</span>
          </Fact>
        )}
        {message.tags.length > 0 && (
          <Fact name="Tags">
            <span class="states">
              {message.tags.map(({ name, value }) => (
                <a class="tag" key={name} href={linkTo('/messages', { tag: `${name}:${value}` })}>
                  <bdi>
                    {name}:{value}
                  </bdi>
                </a>
              ))}
            </span>
          </Fact>
        )}
        {Object.keys(message.metadata).length > 0 && (
          <Fact name="Metadata">
            {Object.entries(message.metadata).map(([name, value]) => (
              <bdi class="meta" key={name}>
                <code>{name}</code> <span class="muted">=</span> <code>{value}</code>
              </bdi>
            ))}
          </Fact>
        )}
        <Fact name="Class">{message.stream === 'bulk' ? 'Bulk' : 'Transactional'}</Fact>
        {message.scheduled_at !== null && <Fact name="Scheduled for">{times.full(message.scheduled_at)}</Fact>}
        <Fact name="Gives up">{times.full(message.expires_at)}</Fact>
        <Fact name="Size">{count(message.size_bytes)} bytes</Fact>
        <Fact name="Id">
          <CopyField text={message.id} name="id" />
        </Fact>
      </Facts>
    </aside>
  );
};
