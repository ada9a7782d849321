import { expect, test } from 'vitest';
import { registeredName } from '../../../../src/lib/smtp/dns/registered-name.ts';

test.each([
  ['google.com', 'aspmx.l.google.com'],
  ['google.com', 'ASPMX.L.Google.com.'],
  ['outlook.com', 'example-com.mail.protection.outlook.com'],
  ['example.co.uk', 'mx1.example.co.uk'],
  ['amazonaws.com', 'inbound-smtp.eu-west-1.amazonaws.com'],
  ['xn--bcher-kva.example', 'mx.xn--bcher-kva.example'],
  // Anybody gets such names below somebody else's: each stands for itself.
  ['evil.dyndns.org', 'mx.evil.dyndns.org'],
  ['ec2-192-0-2-1.eu-west-1.compute.amazonaws.com', 'ec2-192-0-2-1.eu-west-1.compute.amazonaws.com'],
  // What nobody registered stands for itself.
  ['localhost', 'localhost'],
  ['192.0.2.1', '192.0.2.1'],
  ['co.uk', 'co.uk'],
])('%s runs %s', (provider, host) => {
  expect(registeredName(host)).toBe(provider);
});
