import { describe, test } from 'vitest';
import { type ApiKey, apiKey, type CreateKey, createKey } from '../../../src/domain/api-key/api-key.ts';
import { callerWith, keyCreated } from '../../support/controls/api-key.ts';
import { specify } from '../../support/specification.ts';

const create =
  (changes: Partial<CreateKey> = {}) =>
  (state: ApiKey) =>
    createKey(state, { by: callerWith(), ...keyCreated().data, ...changes });

describe('creating an API key', () => {
  const { given } = specify(apiKey);

  test('records what the key may do and the hash of its secret', () => {
    given([]).when(create()).thenEvents(keyCreated());
  });
  test('that holds admin is refused to a manage key', () => {
    given([])
      .when(create({ permissions: ['read', 'admin'] }))
      .thenRefused('permission_missing');
  });
  test('that holds admin is allowed to admin and to the operator', () => {
    const admin = callerWith({ permissions: ['admin'] });
    given([])
      .when(create({ permissions: ['admin'], by: admin }))
      .thenEvents(keyCreated({ permissions: ['admin'] }));
    given([])
      .when(create({ permissions: ['admin'], by: 'operator' }))
      .thenEvents(keyCreated({ permissions: ['admin'] }));
  });
  test('with rate limits of its own is refused to a manage key', () => {
    given([])
      .when(create({ rateLimits: { send: 5000 } }))
      .thenRefused('permission_missing');
  });
  test('for live is refused to a test key', () => {
    given([])
      .when(create({ by: callerWith({ environment: 'test' }) }))
      .thenRefused('environment_not_allowed');
  });
  test('for test is allowed to a live key', () => {
    given([])
      .when(create({ environment: 'test' }))
      .thenEvents(keyCreated({ environment: 'test' }));
  });
});
