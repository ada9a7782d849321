import type { ApiKeyEvent } from '../../../src/domain/kernel/events.ts';
import { apiKeysProjection } from '../../../src/projections/api-keys.ts';
import type { Projection } from '../../../src/projections/projection.ts';
import { keyCreated } from '../../support/controls/api-key.ts';

/** A key that PostgreSQL cannot store, because its name contains NUL. */
export const poisonousKey = (keyId: string): ApiKeyEvent => keyCreated({ keyId, name: 'no\u0000good' });

/** The projection of API keys, with a hook before each batch. */
export const tampered = (before: (types: readonly string[]) => void | Promise<void>): Projection => ({
  ...apiKeysProjection,
  apply: async (db, events) => {
    await before(events.map(({ type }) => type));
    await apiKeysProjection.apply(db, events);
  },
});

/** A later version of the projection, which can store the key that this one cannot. */
export const mended: Projection = {
  ...apiKeysProjection,
  apply: (db, events) =>
    apiKeysProjection.apply(
      db,
      events.map((event) =>
        event.type === 'KeyCreated'
          ? { ...event, data: { ...event.data, name: event.data.name.replace('\u0000', '') } }
          : event,
      ),
    ),
};
