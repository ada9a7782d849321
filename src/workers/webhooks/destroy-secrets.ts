import type { Secrets } from '../../domain/ports/secrets.ts';
import type { ExistingWebhook, Webhook } from '../../domain/webhook/webhook.ts';
import type { System } from '../../lib/async/async.ts';
import { repeat, type Work } from '../supervise.ts';

/**
 * Destroys webhook secrets that are no longer needed: signing secrets after a rotation, replaced header values, and both of
 * deleted webhooks. Only the log decides: each process repeats this after each start, including secrets that have been
 * destroyed already, and then forgets them.
 */

/** Secrets per statement. Higher: locks are held longer. Lower: a start takes longer. */
const SECRETS_MAX = 500;

/** In-memory projection of vault ids that webhooks had, until they are destroyed. */
export interface FormerSecrets {
  /** Applies what an event made of a webhook. @param at when it happened, ISO 8601. */
  apply(before: Webhook, after: ExistingWebhook, at: string): void;
  /** Ids that were needed until before this time, at most `SECRETS_MAX`. */
  due(before: Date): readonly string[];
  forget(ids: readonly string[]): void;
}

const idsOf = (state: Webhook): readonly string[] => {
  if (state.status === 'absent' || state.status === 'deleted') return [];
  const { secretId, earlierSecrets, headers } = state;
  const earlier = earlierSecrets.map((each) => each.secretId);
  return [secretId, ...earlier, ...(headers === null ? [] : [headers.secretId])];
};

export const createFormerSecrets = (): FormerSecrets => {
  const neededUntilMs = new Map<string, number>();

  return {
    apply: (before, after, at) => {
      const needed = idsOf(after);
      const ended = idsOf(before).filter((id) => !needed.includes(id));
      const ending = after.earlierSecrets.filter(({ secretId }) => needed.includes(secretId));
      for (const id of ended) neededUntilMs.set(id, Date.parse(at));
      for (const { secretId, expiresAt } of ending) neededUntilMs.set(secretId, Date.parse(expiresAt));
    },
    due: (before) => {
      const ids: string[] = [];
      for (const [id, untilMs] of neededUntilMs) {
        if (untilMs < before.getTime()) ids.push(id);
        if (ids.length === SECRETS_MAX) break;
      }
      return ids;
    },
    forget: (ids) => {
      for (const id of ids) neededUntilMs.delete(id);
    },
  };
};

interface DestroySecrets {
  readonly secrets: Pick<Secrets, 'destroy'>;
  readonly formerSecrets: Pick<FormerSecrets, 'due' | 'forget'>;
  readonly system: System;
}

/** How late it may be. Each look goes through all that is left in memory. */
const DESTROY_EVERY_MS = 1_000;
/** Posts of processes whose clock or view of the log is behind still need them for this long. */
const MARGIN_MS = 300_000;

export const destroySecrets = ({ secrets, formerSecrets, system }: DestroySecrets): Work =>
  repeat(system, async () => {
    const ids = formerSecrets.due(new Date(system.now().getTime() - MARGIN_MS));
    if (ids.length > 0) await secrets.destroy(ids);
    formerSecrets.forget(ids);
    return DESTROY_EVERY_MS;
  });
