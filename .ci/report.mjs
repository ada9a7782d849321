// Reads vitest's JSON report: prints "passed failed", then a line for everything that failed or was skipped.
// Usage: node .ci/report.mjs <report> <exit status of vitest>
import { readFileSync } from 'node:fs';

const [, , file, status] = process.argv;

function read() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, testResults: [] };
  }
}

const report = read();
const wrong = [];
for (const suite of report.testResults) {
  if (suite.message) wrong.push(`${suite.name}: ${suite.message}`);
  for (const test of suite.assertionResults) {
    if (test.status === 'passed') continue;
    wrong.push(`${suite.name}: ${test.fullName} (${test.status}) ${test.failureMessages?.[0] ?? ''}`.trimEnd());
  }
}
if (wrong.length === 0 && status !== '0') wrong.push(`ended with ${status}, and no test failed`);

process.stdout.write(`${report.numPassedTests} ${wrong.length}\n`);
for (const line of wrong) process.stdout.write(`  ${line.slice(0, 2000)}\n`);
