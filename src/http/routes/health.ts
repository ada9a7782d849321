import { z } from 'zod';
import { withTimeout } from '../../async/with-timeout.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { RouteContext } from '../endpoint.ts';
import { routeSchema } from '../openapi/operation.ts';

/** A healthy database answers in milliseconds; load balancers probe every few seconds. */
const PROBE_MS_MAX = 1_000;

const alive = z.strictObject({ status: z.literal('ok') });

/** Liveness of the process. */
export const livezRoute = ({ server, operationId }: RouteContext): void => {
  const schema = routeSchema(operationId, 'GET /livez', { summary: 'Check that the process is alive', answer: alive });
  server.get('/livez', { schema }, async () => ({ status: 'ok' }));
};

/** Readiness: the key cache is fresh, all dependencies answer, and the server is not closing. */
export const readyzRoute = ({ server, deps, auth, closing, operationId }: RouteContext): void => {
  const failed = async ([name, probe]: readonly [string, () => Promise<unknown>]): Promise<readonly string[]> => {
    try {
      await withTimeout({ ms: PROBE_MS_MAX }, probe());
      return [];
    } catch {
      return [name];
    }
  };

  const schema = routeSchema(operationId, 'GET /readyz', {
    summary: 'Check that the process can serve requests',
    answer: alive,
  });
  server.get('/readyz', { schema }, async () => {
    const probes = (await Promise.all(Object.entries(deps.probes).map(failed))).flat();
    const fresh = auth.keyCache.isFresh() || (await auth.keyCache.catchUp());
    const away = [...probes, ...(fresh ? [] : ['log']), ...(closing.aborted ? ['process: it is closing'] : [])];
    if (away.length > 0) throw new DomainError('unavailable', `not ready: ${away.join(', ')}`);
    return { status: 'ok' };
  });
};
