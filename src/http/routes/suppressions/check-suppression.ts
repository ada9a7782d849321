import { z } from 'zod';
import { load } from '../../../commands/execute.ts';
import { organizationSecret } from '../../../commands/organization/organization-secret.ts';
import { addressDigest } from '../../../commands/suppression/add-suppressions.ts';
import { strongestEntry } from '../../../domain/suppression/strongest-entry.ts';
import { suppression, suppressionId, suppressionStream } from '../../../domain/suppression/suppression.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { showSuppression, suppressionCheckShape } from '../../schemas/suppression.ts';
import { addressField } from './suppression-fields.ts';

const query = z.strictObject({ address: addressField().describe('The address to ask about.') });

export const checkSuppressionRoute = (route: RouteContext): void => {
  const { store, contents, secrets, system } = route.deps.context;
  defineEndpoint(
    route,
    'GET /v1/suppressions/check',
    { summary: 'Whether mail to an address would be kept back now', query, answer: suppressionCheckShape },
    async ({ caller: { organizationId, environment }, query: { address } }) => {
      const digest = addressDigest(await organizationSecret(secrets, organizationId), address);
      const { state } = await load(store, suppression, suppressionStream(suppressionId(environment, digest)));
      const now = system.now().toISOString();
      const isKeptBack = (stream: 'transactional' | 'bulk'): boolean => strongestEntry(state, stream, now) !== null;
      return {
        ...{ object: 'suppression_check', address },
        suppressed: { transactional: isKeptBack('transactional'), bulk: isKeptBack('bulk') },
        suppression: state.status === 'absent' ? null : await showSuppression(contents, state, now),
      };
    },
  );
};
