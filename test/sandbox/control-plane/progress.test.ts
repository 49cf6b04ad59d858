import { describe, expect, it } from 'vitest';
import { progressOn, seconds } from '../../../src/sandbox/binaries/progress.ts';

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 60, write: (text: string) => written.push(text), text: () => written.join('') };
}

describe('progress', () => {
  it('shows a step, its end, and the time that both took', async () => {
    const file = screen(false);
    let now = 0;
    const progress = progressOn(file, () => now);

    const result = await progress.during('building', async (detail) => {
      detail('12 packages');
      now = 65_000;
      return 'built';
    });

    expect(result).toBe('built');
    expect(file.text()).toBe('  0.0 s  building …\n 65.0 s  building: done in 65.0 s\n');
  });

  it('says that a step was not done, and passes its failure on', async () => {
    const file = screen(false);

    const failing = progressOn(file, () => 0).during('building', () => Promise.reject(new Error('no')));

    await expect(failing).rejects.toThrow('no');
    expect(file.text()).toContain('building: failed after 0.0 s: no');
  });

  it('keeps one line that is replaced on a terminal', async () => {
    const terminal = screen(true);

    await progressOn(terminal, () => 0).during('building', () => Promise.resolve());

    const clear = '\r\u001B[2K';
    expect(terminal.text()).toBe(`${clear}  0.0 s  building (0.0 s)${clear}  0.0 s  building: done in 0.0 s\n`);
  });

  it.each([
    { ms: 0, text: '  0.0 s' },
    { ms: 12_345, text: ' 12.3 s' },
    { ms: 125_400, text: '2 min 05 s' },
  ])('writes $ms ms as "$text"', ({ ms, text }) => {
    expect(seconds(ms)).toBe(text);
  });
});
