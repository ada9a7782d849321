import type { Contents } from '../../../src/domain/ports/contents.ts';
import type { Secrets } from '../../../src/domain/ports/secrets.ts';
import type { WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createInMemoryContents } from '../../../test/support/in-memory/contents.ts';
import { createInMemorySecrets } from '../../../test/support/in-memory/secrets.ts';
import { createInMemoryWebhookDeliveries } from '../../../test/support/in-memory/webhook-deliveries.ts';
import type { Fault } from '../faults.ts';
import type { Ground } from '../ground.ts';
import type { Process } from '../process.ts';

/** Data stored outside the log. */
export interface Vault {
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly webhookDeliveries: WebhookDeliveries;
}

export const createVault = (): Vault => ({
  contents: createInMemoryContents(),
  secrets: createInMemorySecrets(),
  webhookDeliveries: createInMemoryWebhookDeliveries(),
});

const away = (): Error => new StoreUnavailable('the vault cannot be reached');

/** The vault as accessed by one process. */
export const processVault = (ground: Ground, vault: Vault, process: Process): Vault => {
  const { contents, secrets, webhookDeliveries } = vault;

  const reaching =
    (fault: Fault, noun: string) =>
    <Arguments extends readonly unknown[], T>(verb: string, work: (...given: Arguments) => Promise<T>) =>
    (...given: Arguments): Promise<T> =>
      process.call({ what: `${verb} ${noun}`, work: () => work(...given), fate: ground.fateUnless(fault, away) });

  const content = reaching('contents fail', 'contents');
  const secret = reaching('contents fail', 'secrets');
  const owed = reaching('webhook store fails', 'webhook deliveries');
  return {
    contents: {
      put: content('puts', contents.put),
      get: content('gets', contents.get),
      heads: content('shows', contents.heads),
    },
    secrets: {
      put: secret('puts', secrets.put),
      get: secret('gets', secrets.get),
      destroy: secret('destroys', secrets.destroy),
    },
    webhookDeliveries: {
      checkpoint: owed('finds the checkpoint of', webhookDeliveries.checkpoint),
      record: owed('records', webhookDeliveries.record),
      owedEvents: owed('looks for events of', webhookDeliveries.owedEvents),
      distribute: owed('distributes', webhookDeliveries.distribute),
      claim: owed('claims', webhookDeliveries.claim),
      release: owed('releases', webhookDeliveries.release),
      finish: owed('finishes', webhookDeliveries.finish),
      failingSince: owed('judges', webhookDeliveries.failingSince),
      waitingSince: owed('measures the wait of', webhookDeliveries.waitingSince),
      find: owed('finds', webhookDeliveries.find),
      list: owed('lists', webhookDeliveries.list),
      resend: owed('resends', webhookDeliveries.resend),
      startReplay: owed('starts a replay of', webhookDeliveries.startReplay),
      findReplay: owed('finds a replay of', webhookDeliveries.findReplay),
      listReplays: owed('lists replays of', webhookDeliveries.listReplays),
      runningReplays: owed('looks for replays of', webhookDeliveries.runningReplays),
      advanceReplay: owed('advances a replay of', webhookDeliveries.advanceReplay),
      cancelReplay: owed('cancels a replay of', webhookDeliveries.cancelReplay),
      pendingOf: owed('counts', webhookDeliveries.pendingOf),
    },
  };
};
