// Package chart draws the charts of a report as SVG: gonum's plot lays axes, ticks and text out, and what is drawn goes
// to a canvas of our own.
//
//	Figure --> plot.Plot --> canvas --> <svg role="img"> with <title> and <desc>, to be put into a page
//
// The canvas of gonum writes fixed colours. Ours writes classes, so that one drawing serves light, dark and print by the
// page's style sheet, and names what it draws: each line is a <g class="line" data-name="..." data-points="...">, each
// phase a <g class="band" data-name="...">, which is what tests and screen readers find. It writes no script, no link, no
// font and no style of its own.
//
// A chart draws what was measured and nothing else: an interval is a horizontal piece as long as it lasted, a gap is a
// gap, and where several intervals share one pixel their mean is drawn, with a band from the least to the most.
package chart
