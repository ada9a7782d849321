import { destroyFormerKeys } from '../../commands/sending-domain/dkim-keys.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { System } from '../../domain/ports/system.ts';
import type { Duty } from '../duty.ts';
import { repeat, type Work } from '../supervise.ts';
import type { FormerKeysOfDomains } from './former-keys-of-domains.ts';

export interface DestroyKeys {
  readonly store: EventStore;
  readonly secrets: Secrets;
  readonly formerKeys: Pick<FormerKeysOfDomains, 'due'>;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: System;
}

/** How late it may be, and soon after a start that was waited for. Each look goes through all domains in memory. */
const EVERY_MS = 5_000;
/** Domains of one look, so that a stop is not waited for: the rest is due in the next. */
const DOMAINS_MAX = 100;

/** Destroys the private halves of keys that sign no more, once no mail can be on its way to be signed by them. */
export const destroyKeys = ({ formerKeys, duty, ...context }: DestroyKeys): Work =>
  repeat(context.system, async () => {
    if (!duty.isOn()) return EVERY_MS;
    const due = formerKeys.due(context.system.now().toISOString()).slice(0, DOMAINS_MAX);
    for (const domainId of due) await destroyFormerKeys(context, domainId);
    return EVERY_MS;
  });
