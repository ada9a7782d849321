import type { SendingDomainEvent } from '../../domain/events.ts';
import { formerKeys, needless } from '../../domain/sending-domain/former-keys.ts';
import { sendingDomainStream } from '../../domain/sending-domain/sending-domain.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute, load } from '../execute.ts';

/**
 * Destroys the private halves of a domain's keys that nobody needs any more, and puts that on record: in this order, so
 * that after a crash in between it is done again rather than not at all.
 * @throws {DomainError} `resource_conflict`.
 */
export const destroyFormerKeys = async (
  { store, system, secrets }: Pick<CommandContext, 'store' | 'system' | 'secrets'>,
  domainId: string,
): Promise<void> => {
  const stream = sendingDomainStream(domainId);
  const now = system.now().toISOString();
  const known = await load(store, formerKeys, stream);
  const { domain } = known.state;
  const keys = needless(known.state, now);
  if (keys.length === 0 || domain.status === 'absent') return;
  const destroyed = new Set(keys.map(({ secretId }) => secretId));
  await secrets.destroy([...destroyed]);
  const { organizationId } = domain;
  await execute(
    { store, system },
    {
      ...{ aggregate: formerKeys, stream, known },
      context: eventContext(
        {
          ...{ actor: 'worker:destroy-keys', organizationId, environment: null, requestId: null },
          ...{ correlationId: domainId, causationId: domainId },
        },
        now,
      ),
      decide: ({ former }): readonly SendingDomainEvent[] => {
        const gone = former.flatMap(({ selector, secretId }) =>
          destroyed.has(secretId) ? [{ selector, secretId }] : [],
        );
        return gone.length === 0 ? [] : [{ type: 'DkimKeysDestroyed', data: { domainId, keys: gone } }];
      },
    },
  );
};
