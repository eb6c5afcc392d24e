package csisim

// AtSteps calls do between the actions of every operation, until restore is called.
func AtSteps(d *Driver, do func()) (restore func()) {
	d.step = do
	return func() { d.step = func() {} }
}
