import { startReturnedMailListener } from '../adapters/returned-mail/listener.ts';
import { createReturnedMailReader } from '../adapters/returned-mail/returned-mail-reader.ts';
import type { Config } from '../config.ts';
import { createTakeReturnedMail } from '../workers/returned-mail/take-returned-mail.ts';
import { listenRefused } from './listen-refused.ts';
import type { Engines } from './open-engines.ts';

/**
 * Receives what comes back, when `BOUNCE_DOMAIN` is set.
 * @throws {StartRefused} the address cannot be listened on.
 */
export const startReturnedMail = async (
  { bounceDomain, bouncePort, host }: Config,
  { context, system, logger, closers }: Engines,
): Promise<void> => {
  if (bounceDomain === undefined) return;
  const reader = createReturnedMailReader();
  closers.add('reader of returned mail', reader.close);
  const take = createTakeReturnedMail({ context, system, logger });
  const listener = await startReturnedMailListener({
    ...{ domain: bounceDomain, host, port: bouncePort },
    take,
    reader,
    logger,
  }).catch((error: unknown) => {
    throw listenRefused(error, { host, port: bouncePort, variable: 'BOUNCE_PORT' });
  });
  closers.add('listener for returned mail', listener.close);
  logger.info({ port: listener.port }, 'mail that comes back is received');
};
