package ratio

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestOfByHand(t *testing.T) {
	// Of ten values, two are cut at each end and six are kept, whose logarithms are 3 to 8.
	var ratios []float64
	for i := 1; i <= 10; i++ {
		ratios = append(ratios, math.Exp(float64(i)))
	}
	ratios[9] = math.Exp(1e2) // an outlier changes nothing
	got := Of(ratios)
	// Winsorized: 3 3 3 4 5 6 7 8 8 8, variance 42.5/9; 5 degrees of freedom.
	half := 2.5705818356 * math.Sqrt(42.5/9/10) / 0.6
	if math.Abs(math.Log(got.Center)-5.5) > 1e-12 || math.Abs(math.Log(got.Upper)-5.5-half) > 1e-9 {
		t.Errorf("center e^%.4f, upper e^%.4f, want e^5.5 and e^%.4f", math.Log(got.Center), math.Log(got.Upper), 5.5+half)
	}
	if got := Of(ratios[:3]); !math.IsInf(got.Lower, -1) {
		t.Errorf("three values gave %v: they allow no such interval", got)
	}
}

// TestOfCovers checks how often the interval covers the true ratio if every tenth ratio is grossly disturbed.
func TestOfCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const trials = 4000
	for range trials {
		ratios := make([]float64, 60)
		for i := range ratios {
			deviation := 0.03 * random.NormFloat64()
			if random.IntN(10) == 0 {
				deviation *= 15
			}
			ratios[i] = 0.995 * math.Exp(deviation)
		}
		if got := Of(ratios); got.Lower <= 0.995 && 0.995 <= got.Upper {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.93 || share > 0.98 {
		t.Errorf("the interval covered the truth in %.3f of the trials", share)
	}
}
