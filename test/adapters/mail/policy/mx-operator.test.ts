import { expect, test } from 'vitest';
import { mxOperator } from '../../../../src/adapters/mail/policy/mx-operator.ts';

const host = (exchange: string, preference = 10) => ({ exchange, preference });

test.each([
  ['google.com', [host('alt1.aspmx.l.google.com', 5), host('aspmx.l.google.com', 1)]],
  ['outlook.com', [host('example-com.mail.protection.outlook.com', 0)]],
  ['example.co.uk', [host('mx1.example.co.uk'), host('mx2.example.co.uk', 20)]],
  ['example.net', [host('backup.example.org', 20), host('MX.Example.net.', 10)]],
  // Equal preferences: the same one, whatever the order of the answer.
  ['a.example', [host('mx.b.example'), host('mx.a.example')]],
  ['a.example', [host('mx.a.example'), host('mx.b.example')]],
  // Private suffixes are run by whoever registered them.
  ['amazonaws.com', [host('inbound-smtp.eu-west-1.amazonaws.com')]],
  ['xn--bcher-kva.example', [host('mx.xn--bcher-kva.example')]],
  // What nobody registered stands for itself.
  ['localhost', [host('localhost')]],
  ['192.0.2.1', [host('192.0.2.1')]],
  ['co.uk', [host('co.uk')]],
])('%s runs the mail of a domain with its hosts', (operator, hosts) => {
  expect(mxOperator('example.com', hosts)).toBe(operator);
});

test.each([
  ['example.com', 'example.com'],
  ['mail.example.co.uk', 'example.co.uk'],
  ['Mail.Example.COM.', 'example.com'],
  ['localhost', 'localhost'],
])('%s, which has no hosts of its own, is run by %s', (domain, operator) => {
  expect(mxOperator(domain, [])).toBe(operator);
  expect(mxOperator(domain, [host('', 0)])).toBe(operator);
});
