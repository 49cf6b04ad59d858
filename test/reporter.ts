import { writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';
import type { Failure, Reported, Timed } from './reported.ts';

/** Writes what came of a run of vitest into the file of `--outputFile`: failures of tests, of hooks, of files, and of none of them. */
export default class RunReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): Promise<void> {
    const { root, outputFile } = this.#vitest?.config ?? {};
    if (root === undefined || typeof outputFile !== 'string') throw new Error('the report needs an --outputFile');
    await writeFile(outputFile, JSON.stringify(reportOf(modules, unhandled, root)));
  }
}

function reportOf(modules: readonly TestModule[], unhandled: readonly SerializedError[], root: string): Reported {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (state: string) => tests.filter((test) => test.result().state === state).length;
  return {
    passed: inState('passed'),
    skipped: inState('skipped'),
    failures: [...modules.flatMap(failuresOf), ...unhandled.map((error) => outside(error, root))],
    times: tests.map(timed),
  };
}

function timed(test: TestCase): Timed {
  const { state } = test.result();
  return { file: test.module.relativeModuleId, test: test.fullName, state, ms: test.diagnostic()?.duration ?? 0 };
}

function failuresOf(module: TestModule): readonly Failure[] {
  const file = module.relativeModuleId;
  const suites: readonly TestSuite[] = [...module.children.allSuites()];
  const tests: readonly TestCase[] = [...module.children.allTests()];
  const isOver = ['passed', 'failed', 'skipped'].includes(module.state());
  return [
    ...failure(file, '(the file itself, or a hook)', module.errors()),
    ...suites.flatMap((suite) => failure(file, `${suite.fullName} > (a hook)`, suite.errors())),
    ...tests.flatMap((test) => failure(file, test.fullName, test.result().errors ?? [])),
    ...(isOver ? [] : [{ file, test: '(the file itself)', why: 'it did not come to its end' }]),
  ];
}

function failure(file: string, test: string, errors: readonly SerializedError[]): readonly Failure[] {
  return errors.length === 0 ? [] : [{ file, test, why: errors.map(whyOf).join('\n') }];
}

/** What failed outside of all tests: a rejection that nobody handled, a worker that died. */
function outside(error: SerializedError, root: string): Failure {
  const { VITEST_TEST_PATH: path, VITEST_TEST_NAME: test } = error;
  return {
    file: typeof path === 'string' ? relative(root, path) : '(the run itself)',
    test: typeof test === 'string' ? `(outside of a test, about when "${test}" ran)` : '(outside of a test)',
    why: whyOf(error),
  };
}

function whyOf({ stack, message, cause }: SerializedError): string {
  const said = stack?.includes(message) === true ? stack : `${message}\n${stack ?? ''}`;
  return cause === undefined ? said : `${said}\ncaused by: ${whyOf(cause)}`;
}
