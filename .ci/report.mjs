// Reads vitest's JSON report: prints "passed failed", then the files to run once more (an empty line when something was
// skipped, or more than ten files failed), then a line for everything that failed or was skipped.
// Appends the name of every test that passed to a file, so that a test that several commands run can be counted once.
// Usage: node .ci/report.mjs <report> <exit status of vitest> <file of names>
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [, , file, status, namesFile] = process.argv;

function read() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, testResults: [] };
  }
}

/** The most files whose failure may be the machine's. */
const FILES_MAX = 10;

const report = read();
const wrong = [];
const passed = [];
const failed = new Set();
let skipped = false;
for (const suite of report.testResults) {
  if (suite.status === 'failed') failed.add(relative(process.cwd(), suite.name));
  if (suite.message) wrong.push(`${suite.name}: ${suite.message}`);
  for (const test of suite.assertionResults) {
    if (test.status === 'passed') {
      passed.push(`${relative(process.cwd(), suite.name)}: ${test.fullName}`);
      continue;
    }
    // What a hook that failed skips runs with its file once more.
    if (test.status !== 'failed' && !suite.message) skipped = true;
    wrong.push(`${suite.name}: ${test.fullName} (${test.status}) ${test.failureMessages?.[0] ?? ''}`.trimEnd());
  }
}
if (wrong.length === 0 && status !== '0') wrong.push(`ended with ${status}, and no test failed`);

const again = !skipped && failed.size <= FILES_MAX ? [...failed] : [];

if (passed.length > 0) appendFileSync(namesFile, `${passed.join('\n').replaceAll(/\n(?!test\/)/g, ' ')}\n`);
process.stdout.write(`${report.numPassedTests} ${wrong.length}\n${again.join(' ')}\n`);
for (const line of wrong) process.stdout.write(`  ${line.slice(0, 2000)}\n`);
