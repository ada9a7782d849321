import { describe, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';

const CLIENT = { OIDC_CLIENT_ID: 'outbox', OIDC_CLIENT_SECRET: 'a secret' };
const TOGETHER = 'OIDC_ISSUER: set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or none of them';
const ISSUER = 'OIDC_ISSUER: set the https URL of the provider, such as `https://accounts.example.com`';

describe('the settings of an identity provider', () => {
  test.each([
    ['https://accounts.example.com'],
    ['https://login.example.com:8443/tenant/v2.0'],
    ['http://127.0.0.1:9000'],
  ])('accept the issuer %s', (issuer) => {
    expect(readConfig({ ...CLIENT, OIDC_ISSUER: issuer })).toMatchObject({
      oidcIssuer: issuer,
      oidcClientId: 'outbox',
      oidcClientSecret: 'a secret',
    });
  });

  test.each([
    [{ OIDC_ISSUER: 'http://accounts.example.com', ...CLIENT }, ISSUER],
    [{ OIDC_ISSUER: 'https://user:hunter2@accounts.example.com', ...CLIENT }, ISSUER],
    [{ OIDC_ISSUER: 'https://accounts.example.com?tenant=x', ...CLIENT }, ISSUER],
    [{ OIDC_ISSUER: 'accounts.example.com', ...CLIENT }, ISSUER],
    [CLIENT, TOGETHER],
    [{ OIDC_ISSUER: 'https://accounts.example.com' }, TOGETHER],
    [{ OIDC_CLIENT_SECRET: 'hunter2' }, TOGETHER],
  ])('are rejected as %j', (given, problem) => {
    expect(() => readConfig(given)).toThrow(problem);
    expect(() => readConfig(given)).not.toThrow('hunter2');
  });
});
