import { expect, test } from 'vitest';
import { registeredName } from '../../../../src/lib/smtp/dns/resolver.ts';

test.each([
  ['google.com', 'aspmx.l.google.com'],
  ['google.com', 'ASPMX.L.Google.com.'],
  ['outlook.com', 'example-com.mail.protection.outlook.com'],
  ['example.co.uk', 'mx1.example.co.uk'],
  ['amazonaws.com', 'inbound-smtp.eu-west-1.amazonaws.com'],
  ['xn--bcher-kva.example', 'mx.xn--bcher-kva.example'],
  // Such names are available to anyone below another party's domain, so each is treated as a domain of its own.
  ['evil.dyndns.org', 'mx.evil.dyndns.org'],
  ['ec2-192-0-2-1.eu-west-1.compute.amazonaws.com', 'ec2-192-0-2-1.eu-west-1.compute.amazonaws.com'],
  // Names that cannot be registered are returned unchanged.
  ['localhost', 'localhost'],
  ['192.0.2.1', '192.0.2.1'],
  ['co.uk', 'co.uk'],
])('%s runs %s', (provider, host) => {
  expect(registeredName(host)).toBe(provider);
});
